package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
)

// note is a document in which the member says something to those who read the store. No decision reads it. One
// goroutine uses it.
type note struct {
	key string
	at  store.Version // of what this process has written; "" before that
}

// write writes the document. What a former process of the member left there, or an outcome that was unknown, makes it
// read the version first.
func (d *note) write(ctx context.Context, n *Node, now any) error {
	value, err := json.Marshal(now)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(n.c.TTL, 10*time.Second))
	defer cancel()
	at, err := n.c.Store.Put(ctx, store.Doc{Key: d.key, Value: value, Version: d.at})
	if errors.Is(err, store.ErrConflict) {
		if d.at, err = d.current(ctx, n); err != nil {
			return err
		}
		at, err = n.c.Store.Put(ctx, store.Doc{Key: d.key, Value: value, Version: d.at})
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", d.key, err)
	}
	d.at = at
	return nil
}

// current is the version of the document that is there.
func (d *note) current(ctx context.Context, n *Node) (store.Version, error) {
	doc, err := n.c.Store.Get(ctx, d.key)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return doc.Version, err
}

// remove removes the document when the member stops gracefully. One that stays does no harm: readers look for members that
// are in the value.
func (d *note) remove(ctx context.Context, n *Node) {
	if d.at == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := n.c.Store.Delete(ctx, d.key, d.at); err != nil {
		n.c.Logger.Debug("remove a document of this member", "key", d.key, "err", err)
	}
}
