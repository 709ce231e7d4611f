package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rota-run/rota/store"
)

// unsent asks for changes while there is no connection, and none can be made. Nothing was sent, so nothing is unknown, and
// nothing comes later.
func unsent[S store.Full](t *testing.T, b *bench[S]) {
	v := put(t, b.ctx, b.witness, "f/a", "one", "")
	b.warm(t, b.through)
	b.link.Refuse()
	b.link.Cut()
	asked := func(what string, call func(context.Context) error) error {
		err := b.begin(call).end(t, what)
		if err == nil {
			t.Fatalf("%s without a connection: no error", what)
		}
		return err
	}
	for range 10 { // until the handle has noticed
		_ = asked("get", func(ctx context.Context) error { _, err := b.through.Get(ctx, "f/a"); return err })
	}
	for i := range 3 {
		for what, call := range map[string]func(context.Context) error{ // order-free: each is judged alone
			"append": func(ctx context.Context) error { _, err := b.through.Append(ctx, []byte("never")); return err },
			"create": func(ctx context.Context) error {
				_, err := b.through.Put(ctx, store.Doc{Key: fmt.Sprint("f/", i)})
				return err
			},
			"update": func(ctx context.Context) error {
				_, err := b.through.Put(ctx, store.Doc{Key: "f/a", Value: []byte("two"), Version: v})
				return err
			},
			"delete": func(ctx context.Context) error { return b.through.Delete(ctx, "f/a", v) },
		} {
			err := asked(what, call)
			batched := what == "append" && errors.Is(err, stoppedError{}) // who goes does not know whether the batch has gone
			if errors.Is(err, store.ErrUnknown) && !batched {
				t.Errorf("%s without a connection: error %v: nothing was sent", what, err)
			}
		}
	}
	b.heal(t)
	b.warm(t, b.through)
	wantDoc(t, b.ctx, b.witness, "f/a", "one", v)
	wantData(t, "what was never sent", readAll(t, b.ctx, b.witness, 0, 10))
}
