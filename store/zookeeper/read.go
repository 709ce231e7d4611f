package zookeeper

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store/driver"
)

// readsAtOnce is how many reads of one call are under way at a time.
const readsAtOnce = 64

// Read implements driver.Documents: children and gets, in their order on one connection, behind a barrier. Stale:
// without one.
func (c *conn) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	if err := c.begun(ctx); err != nil {
		return rows, err
	}
	wait := c.barrier.wait
	if q.Stale {
		wait = c.link.connected
	}
	err = c.onOne(ctx, wait, func() error {
		rows = driver.Rows{}
		asked := !q.Stale && !c.link.alone()
		if q.From != "" {
			if rows.Range, rows.More, err = c.readRange(ctx, q, asked); err != nil {
				return err
			}
			asked = true
		}
		nodes, err := c.nodes(ctx, c.spots(q.Keys), asked)
		if err != nil {
			return err
		}
		for i, key := range q.Keys {
			rows.Keys = append(rows.Keys, rowOf(key, nodes[i]))
		}
		return nil
	})
	return rows, c.lost(err)
}

func (c *conn) spots(keys []string) (spots []spot) {
	for _, key := range keys {
		spots = append(spots, spot{path: c.o.rowPath(key)})
	}
	return spots
}

// readRange reads the names of the folders that may have keys of the range, then those of their rows, and then each
// row.
func (c *conn) readRange(ctx context.Context, q driver.Query, asked bool) (rows []driver.Row, more bool, err error) {
	for len(rows) == 0 {
		keys, err := c.keysBetween(ctx, q.From, q.To, asked)
		if err != nil {
			return nil, false, err
		}
		more = len(keys) > q.Limit
		keys, asked = keys[:min(len(keys), q.Limit)], true
		nodes := make([]node, len(keys))
		if !q.Bare {
			if nodes, err = c.nodes(ctx, c.spots(keys), true); err != nil {
				return nil, false, err
			}
		}
		for i, key := range keys {
			if row := rowOf(key, nodes[i]); q.Bare || row.Version != "" { // else it went meanwhile
				rows = append(rows, row)
			}
		}
		if !more {
			break
		}
		q.From = keys[len(keys)-1] + "\x00"
	}
	return rows, more, nil
}

// keysBetween are all keys in a range, sorted.
func (c *conn) keysBetween(ctx context.Context, from, to string, asked bool) (keys []string, err error) {
	top, err := c.nodes(ctx, []spot{{c.o.at(rowsNode), true}}, asked)
	if err != nil {
		return nil, err
	}
	var dirs []string
	var spots []spot
	for _, name := range top[0].names {
		if dir, ok := dirOf(name); ok && (dir == "" || dir < to && dir[:len(dir)-1]+"0" > from) {
			dirs, spots = append(dirs, dir), append(spots, spot{c.o.at(rowsNode, name), true})
		}
	}
	folders, err := c.nodes(ctx, spots, true)
	if err != nil {
		return nil, err
	}
	for i, folder := range folders {
		for _, name := range folder.names {
			if key := join(dirs[i], name); key >= from && key < to {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// nodes reads spots in their order, the next before the answer to the last; one that is not there has no stat. What is
// armed is known to be there as it was found, at the time of the server's last answer or later. So that is no answer
// itself, unless the server was asked something before, in this call.
func (c *conn) nodes(ctx context.Context, spots []spot, asked bool) ([]node, error) {
	nodes, begun := make([]node, len(spots)), 0
	var open []*reading // of the spots up to begun
	collect := func() (err error) {
		for i, r := range open {
			n, failed := r.answer(ctx)
			if failed != nil && !errors.Is(failed, zk.ErrNoNode) && err == nil {
				err = failed
			}
			nodes[begun-len(open)+i] = n
		}
		open = nil
		return err
	}
	for i, at := range spots {
		_, known := c.hub.known(at)
		known = known && (asked || i > 0)
		if known || len(open) == readsAtOnce { // what is known is of now, so what comes before it must be there
			if err := collect(); err != nil {
				return nil, err
			}
		}
		if known {
			if nodes[i], known = c.hub.known(at); known {
				begun = i + 1
				continue
			}
		}
		r, err := c.hub.read(ctx, at)
		if err != nil {
			_ = collect()
			return nil, err
		}
		open, begun = append(open, r), i+1
	}
	return nodes, collect()
}

// barrier makes the server that the handle is connected to catch up, so that what is read from it afterwards is not
// older than the call. Calls that come while one round is under way share the next one.
type barrier struct {
	link   *link
	path   string
	quorum bool

	mu   sync.Mutex
	busy bool
	next *round // has not begun
}

// round is one request, shared by all callers that came before it began.
type round struct {
	done chan struct{}
	gen  uint64 // of the connection
	err  error
}

// wait returns when a round that began after the call is over, and the connection that it was made on.
func (b *barrier) wait(ctx context.Context) (gen uint64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	r := b.join()
	select {
	case <-r.done:
		return r.gen, r.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (b *barrier) join() *round {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = &round{done: make(chan struct{})}
	}
	r := b.next
	if !b.busy {
		b.busy = true
		go b.run()
	}
	return r
}

// run makes rounds until nobody waits for another one.
func (b *barrier) run() {
	for {
		b.mu.Lock()
		r := b.next
		b.next = nil
		b.busy = r != nil
		b.mu.Unlock()
		if r == nil {
			return
		}
		r.gen, r.err = do(context.Background(), b.link, b.request)
		close(r.done)
	}
}

func (b *barrier) request(c *zk.Conn) (uint64, error) {
	gen := b.link.generation()
	if !b.quorum {
		switch b.link.remedy(gen) {
		case byNothing:
			return gen, nil
		case bySync:
			_, err := c.Sync(b.path)
			return gen, err
		case byTransaction:
		}
	}
	_, err := c.Multi(&zk.CheckVersionRequest{Path: b.path, Version: -1})
	if errors.Is(err, zk.ErrNoNode) { // it is refused in its turn: the reader will see what is missing
		err = nil
	}
	return gen, err
}

// onOne runs what reads, behind what is waited for, on the same connection. Another connection may lead to a server
// that is behind: then both are done again.
func (c *conn) onOne(ctx context.Context, wait func(context.Context) (gen uint64, err error), read func() error) error {
	for {
		gen, err := wait(ctx)
		if err == nil {
			err = read()
		}
		var sent *sentError
		switch {
		case ctx.Err() != nil:
			return err
		case errors.As(err, &sent): // the connection broke: nothing was changed, and nothing is known
		case err == nil, answered(err):
			if c.link.generation() == gen {
				return err
			}
		default:
			return err
		}
	}
}
