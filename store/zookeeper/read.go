package zookeeper

import (
	"context"
	"errors"
	"slices"

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
