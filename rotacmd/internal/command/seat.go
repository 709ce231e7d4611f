package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/rota-run/rota/rotacmd/stores"
)

// perProcessor is how many members on a server a machine takes for each processor. Each follows what the others write, so the work of all grows with the square of
// their number; with too many, all heartbeats come late, the members remove each other, and that makes more work.
const perProcessor = 32

// errFull says that a machine has as many members as it takes.
var errFull = errors.New("this machine is full")

// takeSeat makes this process one of the members of this machine, until it ends. A store in a directory has seats of its own, and a machine on which none can be
// kept has no limit.
func (c *config) takeSeat() error {
	if scheme, _, _ := strings.Cut(c.store, ":"); scheme == "file" || scheme == "memory" || !c.opens() {
		return nil
	}
	most := c.most
	if most == 0 {
		most = perProcessor * int64(runtime.NumCPU())
	}
	seat, err := freeSeat(most)
	switch {
	case errors.Is(err, errFull):
		return failed("a machine with more processors; or --most-members "+strconv.FormatInt(2*most, 10)+" if these are mostly idle", "%w", err)
	case err != nil:
		c.node.Logger.Debug("no limit of the members on this machine", "err", err)
	}
	c.seat = seat
	return nil
}

// opens reports whether the store can be one; where it cannot, opening it says why.
func (c *config) opens() bool { return stores.Check(c.store, c.storeOptions("", member)) == nil }

// seatsDir is a directory of this user on this machine: its parent may be shared with other machines.
func seatsDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "rota", "members-"+filepath.Base(host))
	return dir, os.MkdirAll(dir, 0o700)
}

// freeSeat locks one of so many files. The kernel frees the seat of a process that has ended.
func freeSeat(most int64) (io.Closer, error) {
	dir, err := seatsDir()
	if err != nil {
		return nil, err
	}
	for n := range most {
		f, err := os.OpenFile(filepath.Join(dir, strconv.FormatInt(n, 10)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		got, err := lockFile(f)
		if got || err != nil {
			return f, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: %d members run here, which is the limit", errFull, most)
}
