package call

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	planned "github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestWhatAStoreHas: a list has the calls that can be read, and counts the others. A call ends once, as its document
// says, and its document is removed at one version only.
func TestWhatAStoreHas(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		r := Record{Function: "f", State: Failed, TimedOut: true, Attempt: 2, Runner: &Runner{Member: "m"}}
		failed := must.Get(r.encode())(t)
		docs := memory.New().Open()
		for _, d := range [][2]string{{"callpage/a/p/x", "{}"}, {"callpage/q/p", "{}"},
			{"call/q/p/001", `{"v":1,"state":"running"}`}, {"call/q/p/002", `{"v":1,"state":"odd"}`},
			{"call/q/p/003", `{"v":2,"state":"queued"}`}, {"call/q/p/004", string(failed)},
			{"call/q/p/005", `{"state":"queued"}`}, {"call/a/p/x/001", string(failed)}} {
			must.Succeed(t, must.Err(docs.Put(t.Context(), store.Doc{Key: d[0], Value: []byte(d[1])})))
		}
		calls, unreadable, err := List(t.Context(), docs)
		if err != nil || unreadable != 4 || len(calls) != 1 || calls[0].ID != "q/p/004" || calls[0].Queue != "q" {
			t.Fatalf("%+v, %d unreadable, %v", calls, unreadable, err)
		}
		plan := must.Get(planned.Script("refuse list key=call/*/*/"))(t)
		if _, _, err := List(t.Context(), planned.NewFaulty(docs, plan)); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a page that cannot be listed: %v", err)
		}
		out, _ := calls[0].Ended()
		if want := (Outcome{State: Failed, TimedOut: true, Attempts: 2, Member: "m"}); !reflect.DeepEqual(out, want) {
			t.Errorf("got %+v, want %+v", out, want)
		}
		h := &Handle{at: must.Get(parseID(calls[0].ID))(t), over: make(chan struct{})}
		var e *Error
		if !h.conclude(stored{Record: calls[0].Record}, out) || h.settle(nil, nil) || !errors.As(h.err, &e) ||
			e.Function != "f" || !e.TimedOut {
			t.Errorf("it has ended with %+v", h.err)
		}
		odd := &Handle{c: &Client{docs: docs}, at: must.Get(parseID("q/p/002"))(t)}
		if err := odd.Cancel(t.Context()); err == nil {
			t.Error("a call that cannot be read is cancelled")
		}
		d := must.Get(docs.Get(t.Context(), h.at.key()))(t)
		plan = must.Get(planned.Script("refuse delete"))(t)
		if gone, err := remove(t.Context(), planned.NewFaulty(docs, plan), d.Key, d.Version); gone || err == nil {
			t.Errorf("where the store is away it is removed: %t, %v", gone, err)
		}
		for _, try := range []struct {
			at   store.Version
			want bool
		}{{"another", false}, {d.Version, true}, {d.Version, false}} {
			if got, err := remove(t.Context(), docs, d.Key, try.at); got != try.want || err != nil {
				t.Errorf("removed at %s: %t, %v", try.at, got, err)
			}
		}
		if _, err := parseID("q/a b/001"); err == nil {
			t.Error("a page with a blank is the part of an ID")
		}
		ended, end := context.WithCancel(t.Context())
		began := time.Now()
		if err := rest(ended, 1000); err != nil || time.Since(began) != time.Second {
			t.Errorf("a rest of %s: %v", time.Since(began), err)
		}
		if end(); rest(ended, 1) == nil {
			t.Error("a rest that was cut short")
		}
	})
}
