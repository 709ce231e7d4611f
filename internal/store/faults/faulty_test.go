package faults_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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

// TestOutcomes: what each outcome answers, and when what it was about is done: with the bytes that the caller gave.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome       string
		want          error
		now, released bool // it is done
	}{
		{"refuse", store.ErrUnavailable, false, false},
		{"lose-request", store.ErrUnknown, false, false},
		{"lose-reply", store.ErrUnknown, true, true},
		{"late", store.ErrUnknown, false, true},
		{"hold", context.DeadlineExceeded, false, true},
		{"pass", nil, true, true},
	} {
		for what, do := range calls() { // order-free: each has a store of its own
			synctest.Test(t, func(t *testing.T) {
				faulty, plain, ctx := setup(t, "pass * times=1\n"+c.outcome+" * times=1")
				must.Succeed(t, must.Err(faulty.Append(ctx, []byte("first"))))
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				data := []byte("x")
				answered, err := do.change(ctx, faulty, data)
				held := c.outcome == "hold" && !errors.Is(err, store.ErrUnknown)
				if !errors.Is(err, c.want) || answered != (err == nil) || held {
					t.Errorf("%s %s: answers %t, %v, want %v", c.outcome, what, answered, err, c.want)
				}
				data[0] = 'z' // the caller's again
				now := do.read(t.Context(), plain)
				faulty.Release()
				released := do.read(t.Context(), plain)
				if now != map[bool]string{true: "x"}[c.now] || released != map[bool]string{true: "x"}[c.released] {
					t.Errorf("%s %s: the store holds %q, after Release %q", c.outcome, what, now, released)
				}
				must.Succeed(t, must.Err(faulty.Append(t.Context(), []byte("y"))))
			})
		}
	}
}

// call is one that changes something, whether it answers with what it did, and what others see of it.
type call struct {
	change func(ctx context.Context, s store.Full, data []byte) (answered bool, err error)
	read   func(ctx context.Context, s store.Full) string
}

func calls() map[string]call {
	return map[string]call{
		"append": {func(ctx context.Context, s store.Full, data []byte) (bool, error) {
			index, err := s.Append(ctx, data)
			return index > 0, err
		}, func(ctx context.Context, s store.Full) string {
			page, err := s.Read(ctx, 1, 1)
			if err != nil || len(page.Records) == 0 {
				return ""
			}
			return string(page.Records[0].Data)
		}},
		"put": {func(ctx context.Context, s store.Full, data []byte) (bool, error) {
			version, err := s.Put(ctx, store.Doc{Key: "d", Value: data})
			return version != "", err
		}, func(ctx context.Context, s store.Full) string {
			d, _ := s.Get(ctx, "d") // it may not be there
			return string(d.Value)
		}},
		"save": {func(ctx context.Context, s store.Full, data []byte) (bool, error) {
			err := s.SaveSnapshot(ctx, store.Record{Index: 1, Data: data})
			return err == nil, err
		}, func(ctx context.Context, s store.Full) string {
			saved, _ := s.Snapshot(ctx) // there may be none
			return string(saved.Data)
		}},
	}
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
		synctest.Test(t, func(t *testing.T) {
			f, plain, ctx := setup(t, "")
			f.Away(true)
			if _, err := f.Read(ctx, 0, 1); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("read while it is away: %v", err)
			}
			f.Away(false)
			what := f.Break(which)
			before := f.Count(outcomes[what])
			ctx, cancel := context.WithTimeout(ctx, time.Second) // a call that is held ends
			defer cancel()
			if _, err := f.Append(ctx, []byte("x")); err == nil || f.Count(outcomes[what]) == before {
				t.Errorf("%s: an append ended with %v", what, err)
			}
			f.Away(false)
			want := uint64(1)
			if what == "refused" || what == "lost requests" {
				want = 0
			}
			if got := head(t, plain); got != want {
				t.Errorf("%s: %d records when it is mended, want %d", what, got, want)
			}
			must.Succeed(t, must.Err(f.Append(t.Context(), []byte("y"))))
		})
	}
}
