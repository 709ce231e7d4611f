package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// conn is the driver of package engine: one handle on the nodes below a path.
type conn struct {
	o       Options
	log     *slog.Logger
	acl     []zk.ACL
	link    *link
	barrier *barrier
	hub     *hub
	life    *inner.Life // what ends leases begins in it

	mu     sync.Mutex
	leases map[*lease]struct{}
}

// Limits implements driver.Driver: servers take requests of 1 MB, with the paths and ACLs in them.
func (c *conn) Limits() driver.Limits {
	return driver.Limits{
		Value: MaxRecord + 1, Swap: MaxRecord + 8<<10, Each: 512, With: 256, Keys: 1, Range: driver.Names,
	}
}

func (c *conn) isClosed() bool { return c.life.Ctx.Err() != nil }

// begun returns why a call must not begin.
func (c *conn) begun(ctx context.Context) error {
	return cmp.Or(context.Cause(ctx), context.Cause(c.life.Ctx))
}

// Close implements driver.Driver. It ends leases too, waiting at most about a second for the servers.
func (c *conn) Close() error {
	first := c.life.Close()
	c.life.Cancel(store.ErrClosed)
	c.mu.Lock()
	var ends sync.WaitGroup
	for l := range c.leases { // order-free: they end at the same time
		ends.Go(func() { l.link.close() })
	}
	c.mu.Unlock()
	if first {
		c.hub.close()
		c.link.close()
	}
	ends.Wait()
	c.life.End()
	return nil
}

// Swap implements driver.Documents: one transaction.
func (c *conn) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	v, err := c.swap(ctx, c.link, zk.FlagPersistent, op, with...)
	return v, c.failed(err)
}

// folderAttempts bounds how often a folder is created again because the servers removed it while it was empty.
const folderAttempts = 20

func (c *conn) swap(
	ctx context.Context, l *link, flags int32, op driver.Op, with ...driver.Op,
) (driver.Version, error) {
	if err := c.begun(ctx); err != nil {
		return "", err
	}
	if err := c.check(op, with); err != nil {
		return "", err
	}
	for range folderAttempts {
		own, life, ok := c.requests(op, flags)
		if !ok {
			return "", &driver.Conflict{}
		}
		all := own
		for _, o := range with {
			all = append(all, c.create(c.o.rowPath(o.Key), encodeRow("", o.Name, o.Value), flags))
		}
		results, err := multi(ctx, l, all...)
		if err == nil {
			return versionOf(op, life, results), nil
		}
		at := refusedAt(results)
		made, creates := all[at].(*zk.CreateRequest)
		switch {
		case errors.Is(err, zk.ErrNoNode) && creates:
			if err := c.makeFolder(ctx, l, made.Path); err != nil {
				return "", err
			}
		case errors.Is(err, zk.ErrNodeExists) && creates && made.Path == c.o.lifePath(life): // it is random: take another one
		case errors.Is(err, zk.ErrNodeExists) && at >= len(own):
			return "", fmt.Errorf("%s is there already: %w", made.Path, ErrDamaged)
		case errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion):
			return "", &driver.Conflict{}
		default:
			return "", err
		}
	}
	return "", fmt.Errorf("the folder of %q keeps vanishing: %w", op.Key, store.ErrUnavailable)
}

// check refuses what is too large.
func (c *conn) check(op driver.Op, with []driver.Op) error {
	size, most := 0, c.Limits()
	for _, o := range append([]driver.Op{op}, with...) {
		size += len(o.Key) + len(o.Value) + most.Each
		if len(o.Value) > most.Value || size > most.Swap || len(with) > most.With {
			return fmt.Errorf("%q: %w", o.Key, store.ErrTooLarge)
		}
	}
	return nil
}

func (c *conn) create(path string, data []byte, flags int32) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path, Data: data, Acl: c.acl, Flags: flags}
}

// requests are the changes that write one row, and the life that it has then; false if its version is none of ours.
//
// A node's counter begins anew when it is deleted and created. So each life of a row has a random name, which is in its
// version, and a node of that name: both are created at once, and deleted at once.
func (c *conn) requests(op driver.Op, flags int32) (all []any, life string, ok bool) {
	path := c.o.rowPath(op.Key)
	if op.If == "" {
		if op.Once {
			return []any{c.create(path, encodeRow("", op.Name, op.Value), flags)}, "", true
		}
		life = newLife()
		row := c.create(path, encodeRow(life, op.Name, op.Value), flags)
		return []any{row, c.create(c.o.lifePath(life), nil, flags)}, life, true
	}
	life, n, ok := parseVersion(op.If)
	var alive any = &zk.CheckVersionRequest{Path: c.o.lifePath(life), Version: 0}
	switch {
	case op.Delete && life == "":
		return []any{&zk.DeleteRequest{Path: path, Version: n}}, life, ok
	case op.Delete:
		gone := &zk.DeleteRequest{Path: c.o.lifePath(life), Version: 0}
		return []any{&zk.DeleteRequest{Path: path, Version: n}, gone}, life, ok
	case life == "": // somebody else wrote it: from here on it is a row
		life = newLife()
		alive = c.create(c.o.lifePath(life), nil, zk.FlagPersistent)
	}
	return []any{alive, &zk.SetDataRequest{Path: path, Data: encodeRow(life, op.Name, op.Value), Version: n}}, life, ok
}

// versionOf is the version of a row that was written.
func versionOf(op driver.Op, life string, results []zk.MultiResponse) driver.Version {
	switch {
	case op.Delete:
		return ""
	case op.If == "":
		return version(life, 0)
	}
	return version(life, results[1].Stat.Version)
}

// refusedAt is the first change that was refused, for which all were.
func refusedAt(results []zk.MultiResponse) int {
	for i, r := range results {
		if r.Error != nil {
			return i
		}
	}
	return 0
}

// makeFolder makes the folder of a row. The servers remove it some time after its last row has gone.
func (c *conn) makeFolder(ctx context.Context, l *link, path string) error {
	folder, ok := c.o.folderOf(path)
	if !ok {
		return fmt.Errorf("%s is gone: %w: the store was deleted; restart its members", c.o.at(livesNode), ErrDamaged)
	}
	_, err := do(ctx, l, func(z *zk.Conn) (string, error) {
		return z.Create(folder, nil, zk.FlagContainer, c.acl) // the wire makes it a container
	})
	var sent *sentError
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%s is gone: %w: the store was deleted; restart its members", c.o.at(rowsNode), ErrDamaged)
	case errors.As(err, &sent) && ctx.Err() == nil:
		return &refusedError{sent.err} // of the row nothing was sent
	case errors.As(err, &sent):
		return context.Cause(ctx)
	}
	return err
}

// multi makes several changes at once, or none of them.
func multi(ctx context.Context, l *link, ops ...any) ([]zk.MultiResponse, error) {
	results, err := do(ctx, l, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
	if err == nil && len(results) != len(ops) {
		return results, &sentError{fmt.Errorf("%d answers to %d changes", len(results), len(ops))}
	}
	return results, err
}

// freeStep is how many rows one request deletes.
const freeStep = 500

// Free implements driver.Documents. Where some are gone already, it looks which are left.
func (c *conn) Free(ctx context.Context, keys []string) error {
	if err := c.begun(ctx); err != nil {
		return err
	}
	return c.failed(c.free(ctx, keys))
}

func (c *conn) free(ctx context.Context, keys []string) error {
	for len(keys) > 0 {
		some := keys[:min(len(keys), freeStep)]
		var ops []any
		for _, key := range some {
			ops = append(ops, &zk.DeleteRequest{Path: c.o.rowPath(key), Version: -1})
		}
		_, err := multi(ctx, c.link, ops...)
		var sent *sentError
		switch {
		case err == nil:
			keys = keys[len(some):]
			continue
		case !errors.Is(err, zk.ErrNoNode) && (!errors.As(err, &sent) || ctx.Err() != nil || c.isClosed()):
			return err
		}
		if keys, err = c.left(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// left are those of some keys that are there.
func (c *conn) left(ctx context.Context, keys []string) (left []string, err error) {
	rows, err := c.Read(ctx, driver.Query{From: keys[0], To: keys[len(keys)-1] + "\x00", Limit: len(keys), Bare: true})
	for _, row := range rows.Range { // no key of another kind lies between them
		left = append(left, row.Key)
	}
	return left, err
}
