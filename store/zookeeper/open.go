package zookeeper

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	inner "github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/remote"
)

// The marker is the data of the store's own node.
const (
	markerName   = "rota"
	markerFormat = 2
)

// Open opens the store at a path of ZooKeeper servers, and creates it if it does not exist and the options allow that.
// An error says what is wrong and what to try; then nothing is left open. ctx bounds only Open.
func Open(ctx context.Context, o Options) (*Store, error) {
	d, err := OpenDriver(ctx, o)
	if err != nil {
		return nil, err
	}
	o, _ = o.withDefaults() // which were fine
	return &Store{full.New(d, full.Options{Place: o.place(), ReadOnly: o.ReadOnly, Logger: o.Logger})}, nil
}

// OpenDriver opens what Open makes a store of, for tests of drivers. It takes changes even if o.ReadOnly.
func OpenDriver(ctx context.Context, o Options) (full.Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open zookeeper store: %w", err)
	}
	c, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open store in %s: %w", o.place(), err)
	}
	return c, nil
}

func open(ctx context.Context, o Options) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	c := &conn{o: o, log: o.Logger, acl: zk.WorldACL(zk.PermAll), life: inner.NewLife(),
		leases: make(map[*lease]struct{})}
	if o.User != "" {
		c.acl = zk.DigestACL(zk.PermAll, o.User, o.Password)
	}
	c.hub = newHub(c)
	lo := o.linkOptions()
	lo.timeout, lo.onEvent, lo.leaves = o.Session, c.hub.event, c.hub.leaves
	var err error
	if c.link, err = newLink(lo); err != nil {
		return nil, err
	}
	c.barrier = &barrier{link: c.link, path: o.Path, quorum: o.QuorumReads}
	if err := c.prepare(ctx); err != nil {
		_ = c.Close() // never fails
		return nil, diagnose(err)
	}
	return c, nil
}

func (o Options) linkOptions() linkOptions {
	return linkOptions{servers: o.Servers, tls: o.TLS, user: o.User, pass: o.Password, wait: o.Timeout,
		logger: o.Logger}
}

// prepare connects, and finds or creates the store. It starts again if the connection breaks meanwhile.
func (c *conn) prepare(ctx context.Context) error {
	for {
		err := c.link.authenticate(ctx)
		if err == nil {
			err = c.identify(ctx)
		}
		var sent *sentError
		if !errors.As(err, &sent) || ctx.Err() != nil {
			return err
		}
	}
}

// identify reads the marker, and makes the store if there is none.
func (c *conn) identify(ctx context.Context) error {
	if _, err := do(ctx, c.link, func(z *zk.Conn) (string, error) { return z.Sync(c.o.Path) }); err != nil {
		return err
	}
	n, err := do(ctx, c.link, spot{path: c.o.Path}.ask)
	missing := errors.Is(err, zk.ErrNoNode)
	switch {
	case missing || (err == nil && len(n.data) == 0):
		if c.o.MustExist {
			return fmt.Errorf("there is no store: %w: look at the path, or let a member make it", store.ErrNotFound)
		}
		return c.make(ctx, missing, n)
	case err != nil:
		return err
	}
	return checkMarker(n.data)
}

func checkMarker(data []byte) error {
	var name string
	var format int64
	if _, err := fmt.Sscanf(string(data), "%s %d", &name, &format); err != nil || name != markerName {
		return fmt.Errorf("the node holds something else (%.20q): give a path of its own", data)
	}
	return remote.CheckFormat(format, markerFormat, "give another path")
}

// make makes the store's nodes in one step. Who loses a race finds the store.
func (c *conn) make(ctx context.Context, missing bool, n node) error {
	marker := fmt.Appendf(nil, "%s %d\n", markerName, markerFormat)
	var ops []any
	if missing {
		if err := c.makeParents(ctx); err != nil {
			return err
		}
		ops = append(ops, c.create(c.o.Path, marker, zk.FlagPersistent))
	} else {
		ops = append(ops, &zk.SetDataRequest{Path: c.o.Path, Data: marker, Version: n.stat.Version})
	}
	for _, name := range []string{rowsNode, livesNode} {
		ops = append(ops, c.create(c.o.at(name), nil, zk.FlagPersistent))
	}
	_, err := multi(ctx, c.link, ops...)
	if !missing && errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("the node has no data but children of the names that are needed: %w: give a path of its own",
			ErrDamaged)
	}
	if errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrBadVersion) {
		return c.identify(ctx)
	}
	return err
}

func (c *conn) makeParents(ctx context.Context) error {
	segments := strings.Split(c.o.Path, "/")
	for i := 2; i < len(segments); i++ {
		parent := strings.Join(segments[:i], "/")
		_, err := do(ctx, c.link, func(z *zk.Conn) (string, error) {
			return z.Create(parent, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("make %s: %w", parent, err)
		}
	}
	return nil
}

// The value of a sync depends on the server that answers it.
//
// A following server forwards it to the leader, which answers after the transactions that it has sent to that server;
// so a later read there is not older than the sync. The leader itself answers a sync at once, like any read (matchSyncs
// in its CommitProcessor), and it sends a transaction to its followers before it applies it: for a moment, the leader
// may lack what a follower has acknowledged, even after a sync. So at the leader, and if the role of the server is
// unknown, a barrier is an empty transaction, which is applied in its turn. A single server does all in one order, and
// a read comes after everything that it has acknowledged: there, any request is enough.
//
// The server is asked with the command srvr, on a separate connection, because a session cannot ask it. A server drops
// its connections when it becomes or stops being the leader, so its answer holds as long as a connection lasts.

const (
	askCommand = "srvr"
	askAnswer  = "Mode: "
	askMost    = 4 << 10          // bytes of the answer, which has about 200
	askPause   = 30 * time.Second // before a server that did not tell is asked again
)

// remedy is what must come before a read, for that to see all that was acknowledged.
type remedy int

const (
	byTransaction remedy = iota
	bySync
	byNothing
)

// remedyOf is what a server of a mode needs.
func remedyOf(mode string) remedy {
	switch mode {
	case "follower", "observer":
		return bySync
	case "standalone":
		return byNothing
	}
	return byTransaction
}

// askMode asks the server at an address what it is; "" where it does not tell.
func askMode(ctx context.Context, addr string, config *tls.Config) string {
	c, err := connect(ctx, addr, config)
	if err != nil {
		return ""
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := io.WriteString(c, askCommand); err != nil {
		return ""
	}
	return readMode(c)
}

func readMode(r io.Reader) string {
	for lines := bufio.NewScanner(io.LimitReader(r, askMost)); lines.Scan(); {
		if mode, ok := strings.CutPrefix(lines.Text(), askAnswer); ok {
			return strings.TrimSpace(mode)
		}
	}
	return ""
}

// teller knows what the server is that a link is connected to.
type teller struct {
	gen   uint64    // of the connection that was asked about
	mode  string    // "" while it is not known
	busy  bool      // it is being asked
	again time.Time // not before, if it did not tell
}

// alone reports whether the server of the newest connection is known to be a single one.
func (l *link) alone() bool { return l.remedy(l.generation()) == byNothing }

// remedy is what makes the server of a connection catch up. It does not wait for that to be found out.
func (l *link) remedy(gen uint64) remedy {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.teller
	if gen != l.gen || l.wire == nil || !l.up || l.done {
		return byTransaction
	}
	if t.gen != gen {
		*t = teller{gen: gen, busy: t.busy}
	}
	if t.mode == "" && !t.busy && time.Now().After(t.again) {
		t.busy = true
		addr, config := l.wire.peer(l.o.tls)
		l.wg.Go(func() { l.tell(gen, addr, config) })
	}
	return remedyOf(t.mode)
}

// tell asks a server what it is.
func (l *link) tell(gen uint64, addr string, config *tls.Config) {
	ctx, cancel := context.WithTimeout(context.Background(), l.attempt())
	defer cancel()
	defer l.cancelOnClose(cancel)()
	mode := askMode(ctx, addr, config)
	if remedyOf(mode) == byTransaction {
		l.o.logger.Debug("reads of this connection are transactions: its server leads, or does not tell by srvr what it is", "server", addr, "mode", mode)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.teller.busy = false
	if l.teller.gen == gen { // else there was another connection meanwhile
		l.teller.mode, l.teller.again = mode, time.Now().Add(askPause)
	}
}

// peer is where the server of a connection can be reached that it leads to, whatever its name leads to now.
func (w *wire) peer(config *tls.Config) (addr string, _ *tls.Config) {
	if config != nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(w.named)
	}
	return w.RemoteAddr().String(), config
}
