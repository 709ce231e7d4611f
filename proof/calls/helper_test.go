package calls_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/file"
)

// join starts a member in this process.
func join(t *testing.T, s rota.Store, name string, slots int64, functions ...rota.Function) {
	t.Helper()
	m, err := rota.Join(t.Context(), rota.Config{Member: name, Store: s, TTL: longTTL, Slots: slots,
		Functions: functions, DrainTimeout: time.Second})
	must.Succeed(t, err)
	t.Cleanup(func() {
		if err := m.Leave(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func submit[A, R any](t *testing.T, f rota.Func[A, R], to rota.CallTarget, arg A) *rota.Call[R] {
	t.Helper()
	c := must.Get(f.Submit(t.Context(), to, arg))(t)
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

func openFile(tb testing.TB, dir string) *file.Store {
	tb.Helper()
	s, err := file.Open(context.Background(), dir, file.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func client(tb testing.TB, s rota.Store, queue string) *rota.Client {
	tb.Helper()
	c, err := rota.Open(s, rota.ClientOptions{Name: queue})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// patience bounds every wait; it says nothing about how long things should take.
const patience = 60 * time.Second

func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-limit:
			tb.Fatalf("waited %s and it is not so: %s", patience, what)
		}
	}
}

func there(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func lines(t *testing.T, dir, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must.Succeed(t, err)
	text := strings.TrimSpace(string(b))
	if text == "" { // it was made, and not written yet
		return nil
	}
	return strings.Split(text, "\n")
}

func open(t *testing.T, dir, name string) {
	t.Helper()
	must.Succeed(t, mark(dir, name, "go"))
}
