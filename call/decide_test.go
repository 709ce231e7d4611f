package call

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestWhoMayClaim: a queued call is anybody's; a running one only of who finds its member counted out by a value that
// is newer than the claim,
// or of the very process that claimed it and does not know.
func TestWhoMayClaim(t *testing.T) {
	t.Parallel()
	v := alone(t) // its index and the incarnation of m are 1
	for name, c := range map[string]struct {
		by          Runner
		state       State
		unbegun, ok bool
	}{
		"queued":                 {Runner{}, Queued, false, true},
		"its member is there":    {Runner{"m", 1, "x-1"}, Running, false, false},
		"its member never was":   {Runner{"gone", 1, "x-1"}, Running, false, true},
		"started again":          {Runner{"m", 0, "x-1"}, Running, false, true},
		"newer than the value":   {Runner{"gone", 2, "x-1"}, Running, false, false},
		"of this process":        {Runner{"me", 1, "start-7"}, Running, true, true},
		"of a former start":      {Runner{"me", 1, "former-7"}, Running, false, true},
		"of a former start here": {Runner{"m", 1, "former-7"}, Running, false, false},
	} {
		me := claimant{"me", "start", v}
		if c.by.Member == "m" {
			me.member = "m"
		}
		if unbegun, ok := me.may(Record{State: c.state, Runner: &c.by}); unbegun != c.unbegun || ok != c.ok {
			t.Errorf("%s: unbegun %t, may claim %t", name, unbegun, ok)
		}
	}
	for name, l := range map[string]listed{"void": {Record{State: Queued}, 4, []int{4}}, "final": {Record{State: Done}, 1, nil}} {
		if l.waits() {
			t.Errorf("a call that is %s is one to run", name)
		}
	}
	if late := (listed{Record{State: Queued, Token: 1}, 4, []int{4}}); !late.waits() {
		t.Error("a number that was made void after its call was claimed has no meaning")
	}
	again, _ := step(Record{State: Running, Attempt: 1, Token: 5, Runner: &Runner{}, Limits: Limits{Attempts: 1}}, "id", claim{Unbegun: true})
	if again.Token != 6 || again.Attempt != 1 {
		t.Errorf("claimed again by who had not begun: %+v", again)
	}
}

// TestAChosenMemberRunsTheCall: nobody else does while it is there to run it.
func TestAChosenMemberRunsTheCall(t *testing.T) {
	t.Parallel()
	v := alone(t)
	drained, _ := v.Do(9, 0, cluster.DrainMember{Member: "m", On: true})
	for name, c := range map[string]struct {
		value cluster.Value
		on    cluster.MemberID
		ok    bool
	}{
		"nobody was chosen":   {v, "", true},
		"itself":              {v, "me", true},
		"another":             {v, "m", false},
		"another, which left": {v, "gone", true},
		"another, draining":   {drained, "m", true},
	} {
		if _, ok := (claimant{"me", "start", c.value}).may(Record{State: Queued, On: c.on}); ok != c.ok {
			t.Errorf("%s: may claim %t", name, ok)
		}
	}
}

// TestWhatAWriteWasFor: by which content of the document who wrote it knows that it was done.
func TestWhatAWriteWasFor(t *testing.T) {
	t.Parallel()
	of := func(s State, nonce string) Record { return Record{State: s, Runner: &Runner{Nonce: nonce}} }
	wish := of(Running, "other")
	wish.Cancel = true
	for name, c := range map[string]struct {
		kind      aimKind
		next, now Record
		want      bool
	}{
		"claimed":                   {toClaim, of(Running, "me"), of(Running, "me"), true},
		"claimed by another":        {toClaim, of(Running, "me"), of(Running, "other"), false},
		"ended in place of a claim": {toClaim, of(Cancelled, "gone"), of(Cancelled, "gone"), true},
		"ended":                     {toEnd, of(Done, "me"), of(Done, "me"), true},
		"running still":             {toEnd, of(Done, "me"), of(Running, "me"), false},
		"ended by another":          {toEnd, of(Done, "me"), of(Done, "other"), false},
		"the wish is there":         {toCancel, wish, wish, true},
		"cancelled by another":      {toCancel, wish, of(Cancelled, "other"), true},
		"no wish is there":          {toCancel, wish, of(Running, "other"), false},
	} {
		if got := (aim{c.kind, "me"}).reached(c.next, c.now); got != c.want {
			t.Errorf("%s: reached %t", name, got)
		}
	}
	w := writing{old: stored{version: "1"}, next: of(Running, "me"), aim: aim{toClaim, "me"}}
	w, _ = w.step(putEnded{err: store.ErrUnknown})
	if _, fx := w.step(putEnded{err: store.ErrConflict}); fx != (getCall{}) {
		t.Errorf("a conflict after a try of unknown outcome: %#v, want a look whose write it was", fx)
	}
}

// TestALentSlotIsGivenOnce: however many goroutines of a run wait for other calls, and whichever stops first.
func TestALentSlotIsGivenOnce(t *testing.T) {
	t.Parallel()
	w := must.Get(NewWorker(RunnerConfig{}))(t)
	w.busy = 1
	r := &run{w: w}
	for i, c := range []struct{ n, busy int }{{1, 0}, {1, 0}, {-1, 0}, {-1, 1}, {1, 0}} {
		if r.lend(c.n); w.busy != int64(c.busy) {
			t.Errorf("step %d: %d slots are busy, want %d", i, w.busy, c.busy)
		}
	}
	if r.free(); w.busy != 0 {
		t.Errorf("the end of a run that had lent its slot leaves %d busy", w.busy)
	}
}

// hooked is a store whose lists and creations a test sees to.
type hooked struct {
	store.Docs
	list func([]store.Doc) []store.Doc
	put  func(store.Doc)
}

func (h *hooked) List(ctx context.Context, dir string) ([]store.Doc, error) {
	docs, err := h.Docs.List(ctx, dir)
	if h.list != nil {
		docs = h.list(docs)
	}
	return docs, err
}

func (h *hooked) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if h.put != nil {
		h.put(d)
	}
	return h.Docs.Put(ctx, d)
}

// TestAListThatLags: a call that a list does not show is not gone: its document says what it is.
func TestAListThatLags(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		docs := &hooked{Docs: memory.New().Open(), list: func([]store.Doc) []store.Doc { return nil }}
		c := must.Get(NewClient(docs, ClientOptions{Queue: "q", Clock: protocol.NewProcessClock()}))(t)
		defer c.Close()
		h := must.Get(c.Submit(t.Context(), "f", []byte("1"), Options{}))(t)
		waited := make(chan error, 1)
		go func() { _, err := h.Wait(t.Context()); waited <- err }()
		time.Sleep(time.Minute) // waits: in virtual time
		select {
		case err := <-waited:
			t.Fatalf("it ended while it was queued: %v", err)
		default:
		}
		must.Succeed(t, h.Cancel(t.Context()))
		began := time.Now()
		if err := <-waited; !errors.Is(err, ErrCancelled) || time.Since(began) > 2*lookWithout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestAKeySubmittedTwiceAtOnce: both get a handle of the one call.
func TestAKeySubmittedTwiceAtOnce(t *testing.T) {
	t.Parallel()
	server := memory.New()
	first := must.Get(NewClient(server.Open(), ClientOptions{Queue: "q"}))(t)
	defer first.Close()
	docs := &hooked{Docs: server.Open()}
	second := must.Get(NewClient(docs, ClientOptions{Queue: "q"}))(t)
	defer second.Close()
	var one *Handle
	docs.put = func(d store.Doc) {
		if strings.HasPrefix(d.Key, prefix) { // the second has seen that there is none
			one = must.Get(first.Submit(t.Context(), "f", []byte("1"), Options{Key: "k"}))(t)
		}
	}
	two, err := second.Submit(t.Context(), "f", []byte("1"), Options{Key: "k"})
	if err != nil || one.ID() != two.ID() {
		t.Fatalf("%v, %v", two, err)
	}
	if _, err := second.Submit(t.Context(), "g", nil, Options{Key: "k"}); err == nil || !strings.Contains(err.Error(), "a call of f") {
		t.Errorf("the key of another function's call: %v", err)
	}
}

// TestAFormerSweeperBeginsAnew: what a member saw while it was the first member counts only as long as it is that.
func TestAFormerSweeperBeginsAnew(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	_, err := docs.Put(t.Context(), store.Doc{Key: "callpage/q/p", Value: []byte("{}")})
	must.Succeed(t, err)
	s, now := sweepingWorker(t, docs)
	first := s.w.c.Value
	for _, v := range []func() cluster.Value{first, func() cluster.Value { return cluster.Value{} }, first} {
		s.w.c.Value = v
		s.sweep(t.Context())
		now.Add(int64(pageRest))
	}
	if got := keys(t, docs); len(got) != 1 {
		t.Error("an empty page went by what its sweeper had seen before another was the first")
	}
	if s.sweep(t.Context()); len(keys(t, docs)) != 0 {
		t.Error("the page stays")
	}
}
