package call_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/store/memory"
)

// join starts a member in this process.
func join(t *testing.T, s rota.Store, name string, slots int64, functions ...rota.Function) *rota.Member {
	t.Helper()
	m, err := rota.Join(t.Context(), rota.Config{Member: name, Store: s, TTL: longTTL, Slots: slots, Functions: functions, DrainTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Leave(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// lab is one member that has functions, and a client.
func lab(t *testing.T, slots int64, functions ...rota.Function) (*memory.Server, *rota.Member, *rota.Client) {
	t.Helper()
	s := memory.New()
	return s, join(t, s.Open(), "a", slots, functions...), client(t, s.Open(), "c")
}

func submit[A, R any](t *testing.T, f rota.Func[A, R], to rota.CallTarget, arg A) *rota.Call[R] {
	t.Helper()
	c, err := f.Submit(t.Context(), to, arg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wait is Wait with patience.
func wait[R any](t *testing.T, c *rota.Call[R]) (R, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.Wait(ctx)
	if ctx.Err() != nil {
		t.Fatalf("call %s does not end", c.ID())
	}
	return r, err
}

// receive takes from a channel with patience.
func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %s in vain: %s", patience, what)
		panic("unreachable")
	}
}

// stateOf is the state in the document of a call; "" if there is none.
func stateOf(t *testing.T, s rota.Store, id string) string {
	t.Helper()
	d, err := s.Get(t.Context(), "call/"+id)
	if err != nil {
		return ""
	}
	var r call.Record
	if err := json.Unmarshal(d.Value, &r); err != nil {
		t.Fatal(err)
	}
	return string(r.State)
}
