package rota_test

import (
	"context"
	"errors"
	"strings"
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
