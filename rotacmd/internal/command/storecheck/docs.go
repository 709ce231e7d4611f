package storecheck

import (
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
)

func (c *check) conditional() (string, error) {
	d := store.Doc{Key: c.prefix + "doc", Value: []byte("1")}
	if err := c.time(func() (err error) { d.Version, err = c.store.Put(c.ctx, d); return err }); err != nil {
		return "", fmt.Errorf("create: %w", err)
	}
	_, err := c.store.Put(c.ctx, store.Doc{Key: d.Key, Value: []byte("2")})
	if err := expect("a second creation", err, store.ErrConflict); err != nil {
		return "", err
	}
	old := d
	if err := c.repeat(func() (err error) { d.Version, err = c.store.Put(c.ctx, d); return err }); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	_, err = c.store.Put(c.ctx, old)
	if err := expect("a write of an old version", err, store.ErrConflict); err != nil {
		return "", err
	}
	got, err := c.store.Get(c.ctx, d.Key)
	if err != nil {
		return "", fmt.Errorf("get: %w", err)
	}
	if got.Version != d.Version {
		return "", fmt.Errorf("version %s was acknowledged, and %s is read", d.Version, got.Version)
	}
	return "", c.clean(d)
}

func (c *check) list() (string, error) {
	d := store.Doc{Key: c.prefix + "list/doc", Value: []byte("1")}
	var err error
	if d.Version, err = c.store.Put(c.ctx, d); err != nil {
		return "", fmt.Errorf("create: %w", err)
	}
	for {
		var found []store.Doc
		err := c.time(func() (err error) { found, err = c.store.List(c.ctx, c.prefix+"list/"); return err })
		if err != nil {
			return "", err
		}
		if len(found) == 1 {
			return "", c.clean(d)
		}
		if len(found) > 1 {
			return "", fmt.Errorf("one document was written, and %d are listed", len(found))
		}
		if !wait.For(c.ctx, lag) {
			return "", fmt.Errorf("what was written is not listed: %w", c.ctx.Err())
		}
	}
}

// lag is the pause between two looks at a list that is behind.
const lag = 10 * time.Millisecond

// hint waits for one.
func (c *check) hint(hints <-chan struct{}) error {
	select {
	case <-hints:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

func (c *check) watch() (string, error) {
	w, ok := c.store.(store.Watcher)
	if !ok {
		return "", missing{"this store can't: members ask instead"}
	}
	hints, err := w.Watch(c.ctx, c.prefix+"watch/")
	if err != nil {
		return "", err
	}
	if err := c.hint(hints); err != nil {
		return "", fmt.Errorf("no hint from the start: %w", err)
	}
	d := store.Doc{Key: c.prefix + "watch/doc"}
	err = c.repeat(func() (err error) {
		if d.Version, err = c.store.Put(c.ctx, d); err != nil {
			return err
		}
		if err := c.hint(hints); err != nil {
			return fmt.Errorf("no hint of a write: %w", err)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return "from a write to the hint of it", c.clean(d)
}

// sessionTTL is long: what a server takes less than must not be what fails.
const sessionTTL = 10 * time.Second

func (c *check) session() (string, error) {
	s, ok := c.store.(store.Sessions)
	if !ok {
		return "", missing{"this store can't: heartbeats alone tell that a member is dead"}
	}
	open, err := s.OpenSession(c.ctx, sessionTTL)
	if err != nil {
		return "", fmt.Errorf("open: %w", err)
	}
	d := store.Doc{Key: c.prefix + "session/doc"}
	if err := c.repeat(func() (err error) { d.Version, err = open.Put(c.ctx, d); return err }); err != nil {
		return "", errors.Join(fmt.Errorf("write: %w", err), open.Close(c.ctx))
	}
	if err := open.Close(c.ctx); err != nil {
		return "", fmt.Errorf("close: %w", err)
	}
	_, err = c.store.Get(c.ctx, d.Key)
	if err := expect("reading a document of a closed session", err, store.ErrNotFound); err != nil {
		return "", err
	}
	if s.SessionsExpire() {
		return "the server ends it when its owner is silent", nil
	}
	return "ends with its process; a suspended one is noticed by its heartbeat", nil
}
