package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/node/guardian"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/tasks/program"
)

// perProcessor is how many members on a server a machine takes for each processor. Each follows what the others write,
// so the work of all grows with the square of their number; with too many, all heartbeats come late, the members remove
// each other, and that makes more work.
const perProcessor = 32

// errFull says that a machine has as many members as it takes.
var errFull = errors.New("this machine is full")

// takeSeat makes this process one of the members of this machine, until it ends. A store in a directory has seats of
// its own, and a machine on which none can be kept has no limit.
func (c *config) takeSeat() error {
	if scheme, _, _ := strings.Cut(c.store, ":"); scheme == "file" || scheme == "memory" || !c.opens() {
		return nil
	}
	most := cmp.Or(c.most, perProcessor*int64(runtime.NumCPU()))
	seat, err := freeSeat(most)
	switch {
	case errors.Is(err, errFull):
		return failed("a machine with more processors; or --most-members "+strconv.FormatInt(2*most, 10)+
			" if these are mostly idle", "%w", err)
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

// guardianOpens opens the store for a guardian, as its member has opened it: by the same text and environment.
func guardianOpens(e env) guardian.Opener {
	return func(ctx context.Context, place string) (guardian.Store, error) {
		st, err := openStore(ctx, e, place, change)
		if err != nil {
			return nil, err
		}
		if s, ok := st.(guardian.Store); ok {
			return s, nil
		}
		_ = st.Close() // nothing was done with it
		return nil, fmt.Errorf("store %s: sessions cannot be ended from outside", storeurl.Hide(place))
	}
}

// guarding gives the member a place for programs and a guardian, where it needs them, and returns what gives them back.
func (c *config) guarding(st store.Full) (done func()) {
	var undo []func()
	var o guardian.Options
	if len(c.allow.exec) > 0 {
		room := program.NewRoom(program.Options{Adopt: true, Logger: c.node.Logger})
		c.allow.programs = room
		o.Programs, o.Children = room.Place(), room
		undo = append(undo, func() { _ = room.Close() }) // what it leaves, the next member removes
	}
	c.node.Guard = c.guardian(st, o, &undo)
	return func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
}

func (c *config) guardian(st store.Full, o guardian.Options, undo *[]func()) protocol.Guard {
	_, ends := st.(store.SessionEnder)
	_, bare := st.(store.Endable) // also without sessions
	switch {
	case !c.guarded:
		return unguarded("none: --guardian=false")
	case c.node.NoSessions && !bare && o.Programs.Mark == "":
		return unguarded("none: no session to end (--no-sessions)")
	case !ends && o.Programs.Mark == "":
		return unguarded(notNeeded)
	}
	o.Name, o.Place, o.TTL, o.Logger = string(c.node.Member), c.store, c.node.TTL, c.node.Logger
	g, err := guardian.Start(o)
	if err != nil {
		c.node.Logger.Warn("no guardian: after the death of this process, others take over when the TTL has passed",
			"err", err)
		return unguarded("none: " + firstLine(err.Error()))
	}
	*undo = append(*undo, g.Close)
	return g
}

// unguarded says why a member has no guardian.
type unguarded string

// notNeeded is what a member says whose session the kernel ends with its process, and that starts no programs.
const notNeeded = "not needed"

// Guard implements protocol.Guard.
func (unguarded) Guard(store.EndKey) {}

// Release implements protocol.Guard.
func (unguarded) Release(store.EndKey) {}

// State implements protocol.Guard.
func (u unguarded) State() string { return strings.ToValidUTF8(string(u), "?") }

// request is what a signal asks of a member.
type request int

// The requests.
const (
	leave  request = iota // hand over, leave the cluster
	reload                // open files again
)

// asks tells what a signal asks for. SIGHUP means that the terminal was closed, or, to a process that has none, to
// reload. SIGPIPE means that the reader of the output is gone: see outputGone.
func asks(s os.Signal, terminal bool) request {
	if s == syscall.SIGHUP && !terminal {
		return reload
	}
	return leave
}

// onSignals makes the first signal that ends a member drain it, and a second one end the process at once.
func (c *config) onSignals(stop func(), n *node.Node) (done func()) {
	signals := make(chan os.Signal, 4)
	if !c.deaf {
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGPIPE)
		if !signal.Ignored(syscall.SIGHUP) { // nohup
			signal.Notify(signals, syscall.SIGHUP)
		}
	}
	terminal := term.IsTerminal(int(os.Stdin.Fd())) || term.IsTerminal(int(os.Stderr.Fd()))
	over := make(chan struct{})
	go func() {
		for leaving := false; ; {
			var s os.Signal
			select {
			case <-over:
				return
			case s = <-signals:
			}
			if s == syscall.SIGPIPE && !outputGone() {
				continue // a connection to the store was closed
			}
			if asks(s, terminal) == reload {
				c.reload()
				continue
			}
			if leaving && (s == syscall.SIGPIPE || s == syscall.SIGHUP) {
				continue // they come in numbers, and nobody has typed them
			}
			if leaving {
				c.say("%s ends at once: others find it gone, and take its tasks", n.Member())
				os.Exit(exitFailed)
			}
			leaving = true
			dropEchoes(signals)
			c.say("leaving: %s", leavingText(n.Value(), n.Member(), c.node.Hold, c.node.DrainTimeout))
			stop()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
	}
}

// dropEchoes drops what comes together with the first signal: timeout(1) sends SIGTERM to its child, and then to all of
// its group. A second signal counts from when the member has said that it leaves.
func dropEchoes(signals <-chan os.Signal) {
	for over := time.After(50 * time.Millisecond); ; {
		select {
		case <-signals:
		case <-over:
			return
		}
	}
}

// leavingText says what becomes of the tasks of a member that leaves.
func leavingText(v cluster.Value, id cluster.MemberID, hold, drain time.Duration) string {
	what := fmt.Sprintf("to hand over, at most %s", drain)
	switch others := func(m cluster.Member) bool { return m.ID != id && m.State == cluster.MemberJoined }; {
	case !slices.ContainsFunc(slices.Collect(v.Members()), others):
		what = "and no other member to take any"
	case hold > 0:
		what = fmt.Sprintf("to keep for its restart, at most %s", hold)
	}
	return fmt.Sprintf("%s %s · once more to end at once", many(owned(v, id), "task"), what)
}

// reload opens again what others may have renamed. Task files are watched all the time; settings count from the next
// start on.
func (c *config) reload() {
	file, ok := c.node.Publisher.(interface{ Reopen() error })
	if ok {
		if err := file.Reopen(); err != nil {
			c.say("reload: %v; samples go on to where they went", err)
			return
		}
	}
	c.say("reloaded: %s; task files are read as they change, and settings count from the next start on", c.sampleText)
}
