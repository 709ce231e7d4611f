package cli_test

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/server"
)

// Calls need nothing of a store that only some of them have.
func TestCallsOnServers(t *testing.T) {
	const calls = 500
	double := rota.NewFunc("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	onServers(t, func(p *place, srv *server.Server) {
		t := p.t
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience) // for all calls
		defer cancel()
		open := func() rota.Store {
			s := must.Get(srv.Open(ctx, p.name, false))(t)
			t.Cleanup(func() { s.Close() })
			return s
		}
		for _, name := range []string{"a", "b"} {
			m, err := rota.Join(ctx, rota.Config{Member: name, Store: open(), TTL: 10 * time.Second, Slots: 16,
				Functions: []rota.Function{double}})
			must.Succeed(t, err)
			defer m.Leave(context.WithoutCancel(ctx))
		}
		look := open()
		c := must.Get(rota.Open(look, rota.ClientOptions{}))(t)
		began, n := time.Now(), 0
		for got, err := range double.Map(ctx, c, func(yield func(int) bool) {
			for i := 0; i < calls && yield(i); i++ {
			}
		}, 100) {
			if err != nil || got != 2*n {
				t.Fatalf("after %d calls and %s: got %d, %v, want %d", n, time.Since(began), got, err, 2*n)
			}
			n++
		}
		t.Logf("%d calls in %s", n, time.Since(began))
		c.Close(ctx)
		if n != calls {
			t.Errorf("%d calls, want %d", n, calls)
		}
		await(t, "no document is left", func() bool { // a list may be behind
			left, err := look.List(ctx, "call/")
			return err == nil && len(left) == 0
		})
	})
}
