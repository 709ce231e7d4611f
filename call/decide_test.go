package call

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
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
// is newer than the claim, or of the very process that claimed it and does not know.
func TestWhoMayClaim(t *testing.T) {
	t.Parallel()
	v := alone(t, "m") // its index and the incarnation of m are 1
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
	for name, l := range map[string]listed{"void": {Record{State: Queued}, 4, []int{4}},
		"final": {Record{State: Done}, 1, nil}} {
		if l.waits() {
			t.Errorf("a call that is %s is one to run", name)
		}
	}
	if late := (listed{Record{State: Queued, Token: 1}, 4, []int{4}}); !late.waits() {
		t.Error("a number that was made void after its call was claimed has no meaning")
	}
	again, _ := step(Record{State: Running, Attempt: 1, Token: 5, Runner: &Runner{}, Limits: Limits{Attempts: 1}}, "id",
		claim{Unbegun: true})
	if again.Token != 6 || again.Attempt != 1 {
		t.Errorf("claimed again by who had not begun: %+v", again)
	}
}

// TestAChosenMemberRunsTheCall: nobody else does while it is there to run it.
func TestAChosenMemberRunsTheCall(t *testing.T) {
	t.Parallel()
	v := alone(t, "m")
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
		if told := len(w.wake) > 0; told != (i == 0 || i == 4) {
			t.Errorf("step %d: others are told of a free slot: %t", i, told)
		}
		if len(w.wake) > 0 {
			<-w.wake
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

// worker is one of the member m, which is alone and joined, with functions that count and a slot.
func worker(t *testing.T, docs store.Docs,
	tenure func() (cluster.Incarnation, protocol.Instant)) (w *Worker, ran *atomic.Int64) {
	t.Helper()
	v, ran := alone(t, "m"), new(atomic.Int64)
	w = must.Get(NewWorker(RunnerConfig{
		Member: "m", Docs: docs, Tenure: tenure, Slots: func() int64 { return 1 },
		Value: func() cluster.Value { return v },
		Clock: protocol.NewProcessClock(), Functions: []Function{NewFunc("f",
			func(context.Context, int) (int, error) { return int(ran.Add(1)), nil }, Options{})},
	}))(t)
	return w, ran
}

// TestWhoseSlotsAreUsed: those of the incarnation that the value has, and no more than outcomes can be written.
func TestWhoseSlotsAreUsed(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		docs := memory.New().Open()
		defer docs.Close()
		c := must.Get(NewClient(docs, ClientOptions{Queue: "q", Clock: protocol.NewProcessClock()}))(t)
		defer c.Close()
		must.Succeed(t, must.Err(c.Submit(t.Context(), "f", []byte("1"), Options{})))
		inc := cluster.Incarnation(2)
		w, ran := worker(t, docs, func() (cluster.Incarnation, protocol.Instant) { return inc, 1 << 60 })
		for _, c := range []struct {
			inc     cluster.Incarnation
			writing int
			ran     int64
		}{{2, 0, 0}, {1, mostWriting, 0}, {1, mostWriting - 1, 1}} {
			inc = c.inc
			w.mu.Lock()
			w.writing = c.writing
			w.mu.Unlock()
			for range 3 {
				w.turn(t.Context(), t.Context(), true)
				time.Sleep(pollEvery) // waits: in virtual time
			}
			if got := ran.Load(); got != c.ran {
				t.Errorf("%+v: %d calls ran", c, got)
			}
		}
		w.runsWG.Wait()
	})
}

// TestADrainDuringAClaim: the function is not called any more, and the call goes back.
func TestADrainDuringAClaim(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		docs := &hooked{Docs: memory.New().Open()}
		c := must.Get(NewClient(docs, ClientOptions{Queue: "q", Clock: protocol.NewProcessClock()}))(t)
		defer c.Close()
		h := must.Get(c.Submit(t.Context(), "f", []byte("1"), Options{}))(t)
		w, ran := worker(t, docs, func() (cluster.Incarnation, protocol.Instant) { return 1, 1 << 60 })
		docs.put = func(d store.Doc) {
			if r, err := decode(d.Value); err == nil && r.State == Running {
				w.stopAll(causeDrained)
			}
		}
		for range 3 {
			w.turn(t.Context(), t.Context(), true)
			time.Sleep(pollEvery) // waits: in virtual time
		}
		w.runsWG.Wait()
		s := must.Get(read(t.Context(), docs, h.at.key()))(t)
		if ran.Load() != 0 || s.State != Queued || s.Token == 0 {
			t.Errorf("%d ran; the call is %s under token %d", ran.Load(), s.State, s.Token)
		}
	})
}

// TestWhenRunsAreLookedAt: at the end of the lease, if that comes first.
func TestWhenRunsAreLookedAt(t *testing.T) {
	t.Parallel()
	w := must.Get(NewWorker(RunnerConfig{}))(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	w.runs["k"] = &run{w: w, inc: 1, ctx: ctx, cancel: cancel}
	for until, want := range map[time.Duration]time.Duration{pollEvery - 1: pollEvery - 1, pollEvery + 1: pollEvery,
		time.Hour: pollEvery} {
		if got := w.guard(1, protocol.Instant(until)+7, 7, false); got != want {
			t.Errorf("a lease of %v: it looks again after %v", until, got)
		}
	}
	if w.guard(1, 7, 7, false); !errors.Is(context.Cause(ctx), causeLease) {
		t.Errorf("at the end of the lease: %v", context.Cause(ctx))
	}
}

// TestWhatIsCounted: each outcome once, under its name.
func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	queued, done, failed := Record{State: Queued}, Record{State: Done}, Record{State: Failed}
	handled := Record{State: Running, Outcome: &Outcome{State: Failed}}
	after := failed
	after.Outcome = &Outcome{State: Failed}
	for want, c := range map[Status]struct {
		before Record
		event  event
		next   Record
	}{
		{Done: 1}:     {Record{State: Running}, finish{}, done},
		{Failed: 1}:   {Record{State: Running}, fail{}, after},
		{Retried: 1}:  {Record{State: Running}, fail{}, queued},
		{Released: 1}: {Record{State: Running}, release{}, queued},
		{Handled: 1}:  {handled, finish{}, after},
	} {
		w := must.Get(NewWorker(RunnerConfig{}))(t)
		if (&run{w: w}).tell(c.before, told{event: c.event, next: c.next}); w.Status() != want {
			t.Errorf("%+v, want %+v", w.Status(), want)
		}
	}
}

// TestListenersDoNotBlock: adding one never waits for it, and one of a call that has ended is told soon.
func TestListenersDoNotBlock(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		docs := &hooked{Docs: memory.New().Open()} // without watches
		c := must.Get(NewClient(docs, ClientOptions{Queue: "q", Clock: protocol.NewProcessClock()}))(t)
		stays := must.Get(c.Submit(t.Context(), "f", []byte("1"), Options{}))(t)
		go func() { _, _ = stays.Wait(t.Context()) }() // the client looks, seldom
		time.Sleep(time.Minute)                        // waits: in virtual time
		h := must.Get(c.Submit(t.Context(), "f", []byte("2"), Options{}))(t)
		must.Succeed(t, h.Cancel(t.Context()))
		told, hold := make(chan time.Time, 2), make(chan struct{})
		began := time.Now()
		h.OnFailureOrTimeout(func(error) { told <- time.Now() })
		if took := (<-told).Sub(began); took > lookLazily {
			t.Errorf("told after %v", took)
		}
		h.OnFailureOrTimeout(func(error) { told <- time.Now(); <-hold })
		<-told
		close(hold)
		c.Close()
		if _, err := stays.Wait(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("waiting under a client that was closed: %v", err)
		}
		late := must.Get(c.Attach(stays.ID()))(t)
		if _, err := late.Wait(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("beginning to: %v", err)
		}
	})
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
	key := "of f"
	docs.put = func(d store.Doc) {
		switch { // the second has seen that there is none
		case strings.HasPrefix(d.Key, prefix):
			one = must.Get(first.Submit(t.Context(), "f", []byte("1"), Options{Key: key}))(t)
		case d.Version == "": // and no page either: it tries again
			must.Succeed(t, must.Err(server.Open().Put(t.Context(), store.Doc{Key: d.Key, Value: []byte("{}")})))
		}
	}
	if _, err := second.Submit(t.Context(), "g", nil, Options{Key: key}); err == nil ||
		!strings.Contains(err.Error(), "a call of f") {
		t.Errorf("the key of a call of another function that is submitted at once: %v", err)
	}
	key = "k"
	two, err := second.Submit(t.Context(), "f", []byte("1"), Options{Key: "k"})
	if err != nil || one.ID() != two.ID() {
		t.Fatalf("%v, %v", two, err)
	}
	if _, err := second.Submit(t.Context(), "g", nil, Options{Key: "k"}); err == nil ||
		!strings.Contains(err.Error(), "a call of f") {
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
	for _, v := range []func() cluster.Value{first, func() cluster.Value { return alone(t, "a") }, first} {
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
