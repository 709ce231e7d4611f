package faults_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// openFaulty wraps handles with a plan that passes everything: then nothing may be different.
func openFaulty(t *testing.T) func(t *testing.T) *faults.Faulty {
	server := memory.New()
	return func(t *testing.T) *faults.Faulty {
		f := faults.NewFaulty(server.Open(), nil)
		t.Cleanup(func() { f.Close() })
		return f
	}
}

func TestFaultyWithoutFaults(t *testing.T) {
	t.Parallel()
	t.Run("docs", func(t *testing.T) { storetest.Docs(t, openFaulty) })
	t.Run("getmany", func(t *testing.T) { storetest.GetMany(t, openFaulty) })
	t.Run("log", func(t *testing.T) { storetest.Log(t, openFaulty) })
	t.Run("watch", func(t *testing.T) { storetest.Watch(t, openFaulty) })
	t.Run("log watch", func(t *testing.T) { storetest.LogWatch(t, openFaulty) })
	t.Run("sessions", func(t *testing.T) { storetest.Sessions(t, openFaulty) })
}

// setup returns a faulty handle under a script and a plain one on the same data.
func setup(t *testing.T, script string) (*faults.Faulty, *memory.Store, context.Context) {
	t.Helper()
	plan, err := faults.Script(script)
	must.Succeed(t, err)
	server := memory.New()
	return faults.NewFaulty(server.Open(), plan), server.Open(), t.Context()
}

func head(t *testing.T, l store.Log) uint64 {
	t.Helper()
	page, err := l.Read(t.Context(), 0, 100)
	must.Succeed(t, err)
	return page.Head
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome       string
		want          error
		now, released uint64 // records in the log
	}{
		{"refuse", store.ErrUnavailable, 0, 0},
		{"lose-request", store.ErrUnknown, 0, 0},
		{"lose-reply", store.ErrUnknown, 1, 1},
		{"late", store.ErrUnknown, 0, 1},
		{"pass", nil, 1, 1},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			t.Parallel()
			faulty, plain, ctx := setup(t, c.outcome+" append times=1")
			data := []byte("x")
			if _, err := faulty.Append(ctx, data); !errors.Is(err, c.want) {
				t.Errorf("append: error %v, want %v", err, c.want)
			}
			data[0] = 'z' // the caller's again
			if got := head(t, plain); got != c.now {
				t.Errorf("head %d at once, want %d", got, c.now)
			}
			faulty.Release()
			if got := head(t, plain); got != c.released {
				t.Errorf("head %d after Release, want %d", got, c.released)
			}
			if page, err := plain.Read(ctx, 0, 1); err != nil || len(page.Records) == 1 &&
				string(page.Records[0].Data) != "x" {
				t.Errorf("the log holds %v, %v", page.Records, err)
			}
			if _, err := faulty.Append(ctx, []byte("y")); err != nil {
				t.Errorf("second append: %v", err)
			}
		})
	}
}

func TestHeldWriteComesLateWhenItsCallerGivesUp(t *testing.T) {
	t.Parallel()
	faulty, plain, ctx := setup(t, "hold put")
	ctx, cancel := context.WithCancel(ctx)
	cause := make(chan error, 1)
	go func() {
		_, err := faulty.Put(ctx, store.Doc{Key: "a", Value: []byte("x")})
		cause <- err
	}()
	for faulty.Count(faults.Held) == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-cause; !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want unknown and cancelled", err)
	}
	if _, err := plain.Get(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("before Release: %v, want not found", err)
	}
	faulty.Release()
	must.Succeed(t, must.Err(plain.Get(t.Context(), "a")))
}

func TestScriptKeysAndCounts(t *testing.T) {
	t.Parallel()
	faulty, _, ctx := setup(t, "# locks alone\nrefuse put key=lock/* after=1 times=2\n\nrefuse get key=gone")
	var failed []int
	for i := range 5 {
		for _, key := range []string{"lock/a", "other"} {
			d, _ := faulty.Get(ctx, key)
			if _, err := faulty.Put(ctx, store.Doc{Key: key, Version: d.Version}); err != nil {
				failed = append(failed, i)
			}
		}
	}
	if len(failed) != 2 || failed[0] != 1 || failed[1] != 2 {
		t.Errorf("rounds %v failed, want 1 and 2", failed)
	}
	if _, err := faulty.Get(ctx, "gone"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get of a refused key: %v", err)
	}
}

func TestBadScripts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"refuse", "explode put", "refuse jump", "refuse put key=[", "refuse put times=-1",
		"refuse put often=3", "refuse put times"} {
		if _, err := faults.Script(text); err == nil {
			t.Errorf("script %q: no error", text)
		}
	}
}

// TestBreak: each way to fail does so until it is mended, and then all is done that was only late. A store that is away
// refuses everything.
func TestBreak(t *testing.T) {
	t.Parallel()
	outcomes := map[string]faults.Outcome{
		"refused": faults.Refused, "lost requests": faults.LostRequest, "lost replies": faults.LostReply,
		"late": faults.Late, "held": faults.Held,
	}
	for which := range uint64(10) {
		f, plain, _ := setup(t, "")
		f.Away(true)
		if _, err := f.Read(t.Context(), 0, 1); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("read while it is away: %v", err)
		}
		f.Away(false)
		what := f.Break(which)
		before := f.Count(outcomes[what])
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := f.Append(ctx, []byte("x"))
			done <- err
		}()
		for f.Count(outcomes[what]) == before {
			runtime.Gosched()
		}
		cancel() // a call that is held ends
		if err := <-done; err == nil {
			t.Errorf("%s: an append succeeded", what)
		}
		f.Away(false)
		want := uint64(1)
		if what == "refused" || what == "lost requests" {
			want = 0
		}
		if got := head(t, plain); got != want {
			t.Errorf("%s: %d records when it is mended, want %d", what, got, want)
		}
		if _, err := f.Append(t.Context(), []byte("y")); err != nil {
			t.Errorf("after %s: %v", what, err)
		}
	}
}
