package call

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// What a caller is refused, before anything is written.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	c := must.Get(NewClient(docs, ClientOptions{Queue: "q"}))(t)
	f := NewFunc("f", func(context.Context, struct{ A int }) (int, error) { return 0, nil }, Options{})
	if got, err := f.Attach(c, "no id"); err == nil {
		t.Errorf("what is no call was found as %v", got)
	}
	for name, o := range map[string]Options{"attempts": {Attempts: -1}, "timeout": {Timeout: -1}, "delay": {Delay: -1},
		"back-off": {MaxBackoff: -1}, "result": {MaxResult: mostResult + 1}} {
		if err := o.check(); err == nil {
			t.Errorf("%s that cannot be are taken", name)
		}
	}
	odd := NewFunc("odd", func(context.Context, int) (int, error) { return 0, nil }, Options{OnFailure: f})
	for name, functions := range map[string][]Function{"of one name": {f, f}, "that are told no failure": {odd}} {
		if _, err := NewWorker(RunnerConfig{Functions: functions}); err == nil {
			t.Errorf("functions %s are run", name)
		}
	}
	if err := Permanent(nil); err != nil {
		t.Errorf("no error is permanent: %v", err)
	}
	for arg, good := range map[string]bool{"": true, `{"A":1}`: true, `{"B":1}`: false, `{"A":1}{}`: false, `{`: false} {
		if err := unmarshal([]byte(arg), new(struct{ A int })); (err == nil) != good {
			t.Errorf("the argument %s: %v", arg, err)
		}
	}
	c.Close()
	for _, o := range []Options{{}, {Key: "k"}} {
		if _, err := c.Submit(t.Context(), "f", []byte("1"), o); !errors.Is(err, ErrClosed) {
			t.Errorf("%+v after the client was closed: %v", o, err)
		}
	}
	if got := keys(t, docs); len(got) != 0 {
		t.Errorf("there are %q", got)
	}
	if a, b := newNonce(), newNonce(); a == b {
		t.Errorf("two clients have the pages of %s", a)
	}
	if got := Labels([]Function{f, NewFunc[int, int]("g", nil)}); !reflect.DeepEqual(got,
		map[string]string{labelKey: "f,g"}) {
		t.Errorf("two functions are announced as %v", got)
	}
}

// TestARunOfAMember: the observer hears of a run before and after the function. The run ends at its timeout, or when
// its member drains. A document that is no call is counted.
func TestARunOfAMember(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		stay := NewFunc("stay", func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
			Options{})
		said := ""
		say := func(what string) func(string, uint64) {
			return func(id string, token uint64) { said += fmt.Sprint(what, id, ":", token) }
		}
		w := must.Get(NewWorker(RunnerConfig{Functions: []Function{stay}, Clock: protocol.NewProcessClock(),
			Tenure:  func() (cluster.Incarnation, protocol.Instant) { return 1, 1 << 60 },
			Started: say("+"), Stopped: say("-")}))(t)
		r := &run{w: w, id: "q/p/000", inc: 1}
		r.ctx, r.cancel = context.WithCancelCause(t.Context())
		r.call = stored{Record: Record{Function: "stay", Token: 7, Limits: Limits{Attempts: 1, TimeoutMS: 1000}}}
		began := time.Now()
		if end, ok := r.perform().(fail); !ok || !end.TimedOut || time.Since(began) != time.Second ||
			said != "+q/p/000:7-q/p/000:7" {
			t.Errorf("it ended after %s as %+v, and was told as %s", time.Since(began), end, said)
		}
		if err := (&Error{TimedOut: true}); !errors.Is(err, ErrTimeout) || errors.Is(&Error{}, ErrTimeout) {
			t.Error("a timeout cannot be told from another failure")
		}
		ctx, cancel := r.context()
		defer cancel()
		back := lend(ctx)
		lent := w.busy
		if back(); lent != -1 || w.busy != 0 {
			t.Errorf("a slot was lent, and %d are busy; then it was taken back, and %d are", lent, w.busy)
		}
		w.runs["k"] = r
		if w.guard(1, 9, 7, true); !errors.Is(context.Cause(r.ctx), work.CauseDrained) {
			t.Errorf("its member drains: %v", context.Cause(r.ctx))
		}
		if got := causeOf(t.Context()); !errors.Is(got, causeDrained) {
			t.Errorf("a member that ends says %v", got)
		}
		over, lose := context.WithCancelCause(t.Context())
		if lose(causeLease); !errors.Is(causeOf(over), causeLease) {
			t.Errorf("a member that has lost its lease says %v", causeOf(over))
		}
		new(leaf).consider(&backlog{w: w}, store.Doc{Key: "call/q/p/000", Value: []byte("{")}, 0, head{}, nil, 7)
		w.counts.of(Cancelled).Add(2)
		if s := w.Status(); s.Unread != 1 || s.Cancelled != 2 {
			t.Errorf("one document is no call, two calls were cancelled, and the status is %+v", s)
		}
		other := &run{w: w, inc: 2}
		other.ctx, other.cancel = context.WithCancelCause(t.Context())
		w.runs["k"] = other
		if w.guard(1, 9, 7, false); !errors.Is(context.Cause(other.ctx), causeLease) {
			t.Errorf("a run of another incarnation: %v", context.Cause(other.ctx))
		}
		now := make(chan struct{})
		close(now)
		w.runsWG.Add(1) // a function that ignores its ctx
		for want, hurry := range map[time.Duration]chan struct{}{10 * time.Second: nil, 0: now} {
			began := time.Now()
			if w.await(hurry, func(error) {}); time.Since(began) != want {
				t.Errorf("it waits %s for its functions, want %s", time.Since(began), want)
			}
		}
		w.runsWG.Done()
	})
}

// TestWhatAWriterHears: a write of unknown outcome stays so until its document or another one is seen.
func TestWhatAWriterHears(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer answer
		want   error // nil: it goes on
	}{
		{paused{}, nil}, {paused{err: context.Canceled}, store.ErrUnknown},
		{got{err: store.ErrUnavailable}, store.ErrUnknown}, {got{err: store.ErrNotFound}, store.ErrConflict},
		{putEnded{err: store.ErrUnavailable}, store.ErrUnknown},
	} {
		_, fx := writing{doubt: true}.step(c.answer)
		if end, ok := fx.(wrote); ok != (c.want != nil) || !errors.Is(end.err, c.want) {
			t.Errorf("%#v: %#v, want %v", c.answer, fx, c.want)
		}
	}
	if _, fx := (attempt{}).claimEnded(wrote{err: store.ErrConflict}); fx != (unclaimed{store.ErrConflict}) {
		t.Errorf("a claim that was refused: %#v", fx)
	}
	if u := (pageUse{shut: true, live: 2}).giveUp(store.ErrUnknown).giveUp(store.ErrUnavailable); u.last() {
		t.Error("a page is done with, and a call of unknown outcome may be on it")
	}
	if _, fx := (heading{body: "b", at: "1", sent: true}).found(gotHead{version: "1", body: "b"}); fx != (pause{try: 1}) {
		t.Errorf("a head that was alike before counts as written: %#v", fx)
	}
	if _, fx := (submission{}).step(putEnded{err: store.ErrConflict}); fx != (getCall{}) {
		t.Errorf("a submission that may have met itself: %#v", fx)
	}
	for token, gone := range map[uint64]bool{0: true, 1: false} { // it was claimed before its number was void
		if expires(Record{State: Queued, Token: token}, 4, []int{4}) != gone {
			t.Errorf("a call that waits under token %d expires: %t", token, !gone)
		}
	}
	for _, c := range []struct {
		use  pageUse
		size int
		full bool
	}{
		{pageUse{}, pageBytes + 1, false}, {pageUse{used: 1, size: 1}, pageBytes - 1, false},
		{pageUse{used: 1, size: 1}, pageBytes, true}, {pageUse{used: pageSize - 1}, 1, false},
		{pageUse{used: pageSize}, 1, true},
	} {
		if got := c.use.full(c.size); got != c.full {
			t.Errorf("%+v has no room for %d: %t", c.use, c.size, got)
		}
	}
}
