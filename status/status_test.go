package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/status"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", what, err, want)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s, ctx := status.New(memory.New().Open(), "jobs/import"), deadline(t)
	_, err := s.Get(ctx)
	wantError(t, "get before any report", err, status.ErrNone)
	for _, c := range []struct {
		token uint64
		value string
		err   error
	}{
		{3, "first", nil}, {3, "second", nil}, {2, "late", status.ErrStale}, {5, "third", nil},
		{3, "late too", status.ErrStale},
	} {
		wantError(t, "put "+c.value, s.Put(ctx, cluster.Token(c.token), c.value), c.err)
	}
	r, err := s.Get(ctx)
	var value string
	if err != nil || r.Decode(&value) != nil || value != "third" || r.Token != 5 || r.Seq != 3 {
		t.Errorf("%+v, %q, %v", r, value, err)
	}
	const quotes = 2
	wantError(t, "put the most", s.Put(ctx, 9, strings.Repeat("x", status.MaxValue-quotes)), nil)
	wantError(t, "put too much", s.Put(ctx, 9, strings.Repeat("x", status.MaxValue-quotes+1)), store.ErrTooLarge)
}

// TestUnknown: a report whose answer is lost, or that comes late, stands there once, and Put says so.
func TestUnknown(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"lose-reply put times=1", "lose-request put times=2", "late put times=1",
		"pass *"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			plan, err := faults.Script(script)
			must.Succeed(t, err)
			ctx, faulty := deadline(t), faults.NewFaulty(memory.New().Open(), plan)
			s := status.New(faulty, "x")
			for n := range 3 {
				must.Succeed(t, s.Put(ctx, 1, n))
				faulty.Release() // what is late comes now, and changes nothing
			}
			if r, err := s.Get(ctx); err != nil || string(r.Value) != "2" || r.Seq != 3 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestDoubtStays: who does not know whether the report stands says so, whatever the next call is answered.
func TestDoubtStays(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"refuse put times=1", "refuse get after=1 times=1"} { // order-free: each by itself
		plan, err := faults.Script("lose-request put times=1\n" + next)
		must.Succeed(t, err)
		s := status.New(faults.NewFaulty(memory.New().Open(), plan), "x")
		err = s.Put(deadline(t), 1, "a")
		wantError(t, "a report that was lost, then "+next, err, store.ErrUnknown)
		wantError(t, "a report that was lost, then "+next, err, store.ErrUnavailable)
	}
}

// between is a store to which another writes after each read, a few times.
type between struct {
	store.Docs
	others []func()
}

func (b *between) Get(ctx context.Context, key string) (store.Doc, error) {
	d, err := b.Docs.Get(ctx, key)
	if len(b.others) > 0 {
		b.others[0]()
		b.others = b.others[1:]
	}
	return d, err
}

// TestTwoReportAtOnce: who meets another looks again, and reports behind it, or is told that it is stale.
func TestTwoReportAtOnce(t *testing.T) {
	t.Parallel()
	for token, want := range map[cluster.Token]error{1: status.ErrStale, 2: nil} { // order-free: each by itself
		docs := memory.New().Open()
		report := func() { must.Succeed(t, status.New(docs, "x").Put(deadline(t), 2, "theirs")) }
		s := status.New(&between{docs, []func(){report, report}}, "x")
		wantError(t, "a report among others", s.Put(deadline(t), token, "ours"), want)
		if r, err := s.Get(deadline(t)); err != nil || want == nil && (r.Seq != 3 || string(r.Value) != `"ours"`) {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestFollowGoesOn: while the store is away the error is told, and after it what came.
func TestFollowGoesOn(t *testing.T) {
	t.Parallel()
	plan, err := faults.Script("refuse get times=1")
	must.Succeed(t, err)
	server := memory.New()
	must.Succeed(t, status.New(server.Open(), "x").Put(deadline(t), 1, 7))
	errs, came := 0, false
	for r, err := range status.New(faults.NewFaulty(server.Open(), plan), "x").Follow(deadline(t)) {
		if err == nil && string(r.Value) == "7" {
			came = true
			break
		}
		wantError(t, "the store is away", err, store.ErrUnavailable)
		errs++
	}
	if errs != 1 || !came {
		t.Errorf("%d errors were told, want one; the report came: %t", errs, came)
	}
}

// Each report comes soon, with hints of the store and without, and the end says why.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memory.New()
		for what, docs := range map[string]store.Docs{"hints": server.Open(),
			"none": struct{ store.Docs }{server.Open()}} { // order-free: each by itself
			writer, why := status.New(server.Open(), what), errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			must.Succeed(t, writer.Put(ctx, 1, 1))
			n, began := 0, time.Now()
			for r, err := range status.New(docs, what).Follow(ctx) {
				if n == 3 {
					wantError(t, what+": the end", err, why)
					break
				}
				must.Succeed(t, err)
				if n++; string(r.Value) != fmt.Sprint(n) || time.Since(began) > time.Second {
					t.Errorf("%s: report %d is %s, after %s", what, n, r.Value, time.Since(began))
				}
				if began = time.Now(); n == 3 {
					cancel(why)
					continue
				}
				must.Succeed(t, writer.Put(ctx, 1, n+1))
			}
			if n != 3 {
				t.Errorf("%s: %d reports", what, n)
			}
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(status.New(memory.New().Open(), "a/b"))
	if err != nil || string(data) != `"a/b"` {
		t.Fatalf("%s, %v", data, err)
	}
	var s status.Status
	if err := json.Unmarshal(data, &s); err != nil || s.Name() != "a/b" {
		t.Fatalf("%v, %v", s, err)
	}
	if err := s.Put(deadline(t), 1, 1); err == nil || !strings.Contains(err.Error(), "use On") {
		t.Errorf("put without a store: %v", err)
	}
	for _, name := range []string{"a//b", ""} {
		if err := json.Unmarshal([]byte(`"`+name+`"`), &s); err == nil {
			t.Errorf("the name %q was taken", name)
		}
		if data, err := json.Marshal(status.New(nil, name)); err == nil {
			t.Errorf("the name %q was written as %s", name, data)
		}
	}
}

// TestWhatIsRefused: what cannot be written, what was written by others, and what cannot be read now.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	ctx, docs := deadline(t), memory.New().Open()
	for what, err := range map[string]error{
		"a value that is no JSON": status.New(docs, "x").Put(ctx, 1, func() {}),
		"a name that is none":     status.New(docs, "a//b").Put(ctx, 1, 1),
		"a value of another kind": status.Report{Value: []byte("7")}.Decode(new(string)),
		"no store":                must.Err(status.Status{}.Get(ctx)),
	} {
		if err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if all, err := docs.List(ctx, ""); err != nil || len(all) != 0 {
		t.Fatalf("there are %v, %v", all, err)
	}
	foreign := store.Doc{Key: "status/x/value", Value: []byte("theirs")}
	foreign.Version = must.Get(docs.Put(ctx, foreign))(t)
	s, faulty := status.New(docs, "x"), faults.NewFaulty(docs, nil)
	for _, err := range []error{s.Put(ctx, 1, 1), must.Err(s.Get(ctx))} {
		if err == nil || !strings.Contains(err.Error(), "status/x/value is none of ours") {
			t.Errorf("a document of others: %v", err)
		}
	}
	if d, err := docs.Get(ctx, foreign.Key); err != nil || d.Version != foreign.Version {
		t.Errorf("it has become %+v, %v", d, err)
	}
	faulty.Away(true)
	s = status.New(faulty, "y")
	wantError(t, "a report", s.Put(ctx, 1, 1), store.ErrUnavailable)
	for _, err := range s.Follow(ctx) {
		wantError(t, "the newest report", err, store.ErrUnavailable)
		break // and nobody is asked again
	}
}
