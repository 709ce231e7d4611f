package rota_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store/memory"
)

// One client does what a process needs that is no member: jobs, calls, locks and statuses.
func TestOneClientForAll(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		typ, told := greets()
		add := rota.NewFunc("add", func(_ context.Context, p pair) (int, error) { return p.A + p.B, nil })
		m := joinAs(t, ctx, s, rota.Config{Member: "a", Slots: 1, Functions: []rota.Function{add},
			Types: []rota.Type{typ}})
		docs := s.Open()
		defer docs.Close()
		c := must.Get(rota.Open(docs, rota.ClientOptions{Name: "importer"}))(t)
		for range 2 { // again: a client that does not know the outcome of the first
			must.Succeed(t, c.Submit(ctx, "job", greeting("hello", 0)))
		}
		expect(t, ctx, told, "hello")
		if err := c.Submit(ctx, "job", greeting("bye", 0)); !errors.Is(err, rota.ErrRefused) {
			t.Errorf("another task under the same name: %v", err)
		}
		call := must.Get(add.Submit(ctx, c, pair{40, 2}))(t)
		if sum, err := call.Wait(ctx); err != nil || sum != 42 {
			t.Errorf("got %d, %v", sum, err)
		}
		if err := c.Lock("one").Do(ctx, func(ctx context.Context, token rota.Token) error {
			return c.Status("one").Put(ctx, token, 1)
		}); err != nil {
			t.Error(err)
		}
		if _, err := m.Status("two").Get(ctx); !errors.Is(err, rota.ErrNone) {
			t.Errorf("a status that nobody has reported: %v", err)
		}
		must.Succeed(t, c.Kill(ctx, "job"))
		if err := c.Submit(ctx, "job", greeting("hello", 0)); !errors.Is(err, rota.ErrKilled) {
			t.Errorf("the job was killed: %v", err)
		}
		if err := c.Kill(ctx, "nothing"); !errors.Is(err, rota.ErrRefused) {
			t.Errorf("there is no such job: %v", err)
		}
		asked := must.Get(journal.NewDocs(docs, "test", 0).Read(ctx, journal.Query{Partition: "job"}))(t)
		if len(asked) != 2 || asked[0].Line() != "job  submit-job job greet  by importer" ||
			asked[1].Line() != "job  kill-job job  by importer" {
			t.Errorf("the journal has %v", asked)
		}
		if v, err := c.Value(ctx); err != nil || v.Index() == 0 {
			t.Errorf("index %d, %v", v.Index(), err)
		}
		held := must.Get(c.Lock("mine").Acquire(ctx))(t)
		if state, err := m.Lock("mine").State(ctx); err != nil || len(state.Holders) != 1 ||
			state.Holders[0].Owner != "importer" {
			t.Errorf("the lock of a client: %+v, %v", state, err)
		}
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
		if held.Err() == nil {
			t.Error("a closed client holds its lock")
		}
		must.Succeed(t, must.Err(m.Lock("mine").TryAcquire(ctx)))
		if _, err := add.Submit(ctx, c, pair{}); !errors.Is(err, rota.ErrClosed) {
			t.Errorf("of a closed client: %v", err)
		}
	})
}

// What is wrong with a config is said at once and together, before the store is asked.
func TestConfigsAreValidated(t *testing.T) {
	t.Parallel()
	typ, _ := greets()
	bad := rota.Config{
		Member: "web 1", TTL: time.Millisecond, Hold: 2 * time.Hour, Slots: -1, DrainTimeout: -1,
		Types:     []rota.Type{typ, typ},
		Sources:   map[string][]string{"a/b": {"."}},
		Functions: []rota.Function{rota.NewFunc("f", func(context.Context, int) (int, error) { return 0, nil })},
	}
	_, err := rota.Join(t.Context(), bad)
	for _, want := range []string{`Member: the name "web 1"`, "no store", "TTL is 1ms", "Hold is 2h", "DrainTimeout",
		"must not be negative", "two task types", `the name "a/b"`, "needs Slots"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s := memory.New().Open()
	if err := (rota.Config{Member: "a", Store: s}).Validate(); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]rota.Config{
		"Types[1]: it has no name or no New": {Types: []rota.Type{typ, {Name: "by hand"}}},
		"Types[0]: it has no name or no New": {Types: []rota.Type{rota.NewType[struct{}]("", nil)}},
		"Functions: one is nil":              {Functions: []rota.Function{nil}, Slots: 1},
	} {
		c.Member, c.Store = "a", s
		if _, err := rota.Join(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, o := range []rota.ClientOptions{{Name: "web 1"}, {Types: []rota.Type{typ, typ}}} {
		if _, err := rota.Open(s, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	knows := must.Get(rota.Open(s, rota.ClientOptions{Types: []rota.Type{typ}}))(t)
	if err := knows.Submit(t.Context(), "job", rota.Task{Type: "unknown"}); err == nil ||
		!strings.Contains(err.Error(), "unknown") {
		t.Errorf("a type that the client does not know: %v", err)
	}
	f := rota.NewFunc("f", func(context.Context, int) (int, error) { return 0, nil }, rota.FuncOptions{},
		rota.FuncOptions{})
	c := must.Get(rota.Open(s, rota.ClientOptions{}))(t)
	if _, err := f.Submit(t.Context(), c, 1); err == nil || !strings.Contains(err.Error(), "several Options") {
		t.Errorf("options given twice: %v", err)
	}
}

type pair struct{ A, B int }

func TestCallsFail(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		var runs atomic.Int64
		quick := rota.FuncOptions{Attempts: 3, Backoff: time.Millisecond}
		fail := rota.NewFunc("fail", func(_ context.Context, how string) (int, error) {
			switch runs.Add(1); how {
			case "panic":
				panic("no luck")
			case "for good":
				return 0, rota.Permanent(errors.New("never"))
			}
			return 0, errors.New("not today")
		}, quick)
		big := rota.NewFunc("big", func(context.Context, int) (string, error) {
			return strings.Repeat("x", 70_000), nil
		}, quick)
		slow := rota.NewFunc("slow", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}, rota.FuncOptions{Attempts: 2, Backoff: -1, Timeout: 20 * time.Millisecond})
		a := joinAs(t, ctx, s, rota.Config{Member: "a", Slots: 4, Functions: []rota.Function{fail, big, slow}})
		for _, c := range []struct {
			how, want string
			runs      int64
		}{
			{"panic", "panic: no luck", 3}, {"for good", "never", 1}, {"", "not today", 3},
		} {
			runs.Store(0)
			call, err := fail.Submit(ctx, a, c.how)
			must.Succeed(t, err)
			_, err = call.Wait(ctx)
			var e *rota.CallError
			if !errors.As(err, &e) || e.Message != c.want || e.Attempts != c.runs || runs.Load() != c.runs ||
				e.Member != "a" || errors.Is(err, rota.ErrTimeout) {
				t.Errorf("%s: got %v after %d runs", c.how, err, runs.Load())
			}
		}
		call, err := big.Submit(ctx, a, 1)
		must.Succeed(t, err)
		if _, err = call.Wait(ctx); err == nil ||
			!strings.Contains(err.Error(), "the result has 70002 bytes, at most 65536") {
			t.Errorf("got %v", err)
		}
		late, err := slow.Submit(ctx, a, 1)
		must.Succeed(t, err)
		if _, err = late.Wait(ctx); !errors.Is(err, rota.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	})
}

// A call that has a key is submitted once, however often a client of the same name submits it; one with a delay waits.
func TestCallsWithAKeyOrADelay(t *testing.T) {
	virtual(t, func(t *testing.T, limited context.Context) {
		ctx := context.WithoutCancel(limited) // it takes longer, in virtual time
		s := memory.New()
		var runs atomic.Int64
		count := rota.NewFunc("count", func(context.Context, int) (int64, error) { return runs.Add(1), nil })
		joinAs(t, ctx, s, rota.Config{Member: "a", Slots: 2, Functions: []rota.Function{count}})
		client := func(name string) *rota.Client {
			st := s.Open()
			c := must.Get(rota.Open(st, rota.ClientOptions{Name: name}))(t)
			t.Cleanup(func() { c.Close(context.Background()); st.Close() })
			return c
		}
		one, again, other := client("importer"), client("importer"), client("exporter")
		keyed := count.With(rota.FuncOptions{Key: "2026-11-22/daily import"})
		ids := make(map[string]bool)
		for _, c := range []*rota.Client{one, again, one, other} {
			call := must.Get(keyed.Submit(ctx, c, 1))(t)
			ids[call.ID()] = true
			time.Sleep(10 * time.Second) // waits: in virtual time, so that it has ended before the next one
		}
		if len(ids) != 2 || runs.Load() != 2 {
			t.Errorf("%d calls and %d runs of two clients", len(ids), runs.Load())
		}
		if _, err := rota.NewFunc("sum", func(context.Context, int) (int, error) { return 0, nil },
			rota.FuncOptions{Key: "2026-11-22/daily import"}).Submit(ctx, one, 1); err == nil {
			t.Error("another function under the same key was accepted")
		}
		began := time.Now()
		call := must.Get(count.With(rota.FuncOptions{Delay: time.Minute}).Submit(ctx, one, 1))(t)
		must.Succeed(t, must.Err(call.Wait(ctx)))
		if took := time.Since(began); took < time.Minute || took > 70*time.Second {
			t.Errorf("a call with a delay of a minute took %s", took)
		}
	})
}
