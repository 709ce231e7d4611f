package shell_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// state is that of a protocol that does what its test says: it answers each event with the effects that react gives.
type state struct {
	seen     []member.Event
	assigned protocol.Assignment
	watched  []string
	react    func(member.Event) []member.Effect
}

func (s state) Value() cluster.Value          { return cluster.Value{} }
func (s state) Assigned() protocol.Assignment { return s.assigned }
func (s state) Tenure() (cluster.Incarnation, protocol.Instant) {
	return cluster.Incarnation(len(s.seen)), s.assigned.ValidUntil
}
func (s state) Status() protocol.Status { return protocol.Status{Pending: len(s.seen)} }

func step(s *state, ev member.Event) []member.Effect {
	s.seen = append(slices.Clip(s.seen), ev)
	fx := s.react(ev)
	for _, e := range fx {
		if w, ok := e.(look); ok {
			s.watched = w.prefixes
		}
		if a, ok := e.(member.Assign); ok {
			s.assigned = a.Assignment
		}
	}
	return fx
}

// look is a call; so is what the test's protocol watches from then on.
type look struct {
	member.Call
	name     string
	prefixes []string
}

// looked answers it.
type looked struct {
	Now  protocol.Instant
	Name string
	Err  error
}

func (e looked) At() protocol.Instant { return e.Now }

// caller answers each look after a while, and notes that it was closed.
type caller struct {
	clock  func() protocol.Instant
	takes  time.Duration
	mu     sync.Mutex
	closed bool
}

func (c *caller) Timeout(member.Effect) time.Duration { return time.Second }

func (c *caller) Close(context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

func (c *caller) Call(ctx context.Context, e member.Effect) member.Event {
	select {
	case <-time.After(c.takes):
		return looked{Now: c.clock(), Name: e.(look).name}
	case <-ctx.Done():
		return looked{Now: c.clock(), Name: e.(look).name, Err: context.Cause(ctx)}
	}
}

// rig is a member on a store, running.
type rig struct {
	m      *shell.Member[state]
	clock  func() protocol.Instant
	caller *caller
	leave  context.CancelFunc
	ended  chan error
	events chan member.Event
}

// anyStore is a protocol as far as New asks it.
type anyStore struct{ protocol.Protocol }

func (anyStore) Fits(protocol.Store) error { return nil }

// own lets a member be the writer of the entries that have none.
func own(fx []member.Effect, w cluster.WriterID) []member.Effect {
	for _, e := range fx {
		if e, ok := e.(member.Applying); ok {
			for i := range e.Entries {
				e.Entries[i].Entry.Writer = cmp.Or(e.Entries[i].Entry.Writer, w)
			}
		}
	}
	return fx
}

func start(t *testing.T, s protocol.Store, c protocol.Config, react func(member.Event) []member.Effect) *rig {
	t.Helper()
	r := &rig{clock: protocol.NewProcessClock(), ended: make(chan error, 1), events: make(chan member.Event, 1000)}
	r.caller = &caller{clock: r.clock, takes: 10 * time.Millisecond}
	c.Member, c.Store, c.Clock = "m", s, r.clock
	m, err := shell.New(c, anyStore{}, func(_ protocol.Config, p member.Params) shell.Machine[state] {
		return shell.Machine[state]{
			Start: state{react: func(ev member.Event) []member.Effect {
				r.events <- ev
				return own(react(ev), p.Writer())
			}},
			Step: step, Caller: r.caller, Watched: func(s state) ([]string, bool) {
				return s.watched, len(s.watched) > 0
			},
		}
	})
	must.Succeed(t, err)
	r.m = m
	ctx, cancel := context.WithCancel(t.Context())
	r.leave = cancel
	go func() { r.ended <- r.m.Run(ctx) }()
	return r
}

// left lets the member leave.
func (r *rig) left(t *testing.T) {
	t.Helper()
	r.leave()
	must.Succeed(t, <-r.ended)
}

// next is the next event of a kind.
func next[E member.Event](t *testing.T, r *rig) E {
	t.Helper()
	for {
		select {
		case ev := <-r.events:
			if e, ok := ev.(E); ok {
				return e
			}
		case <-time.After(time.Hour):
			var zero E
			t.Fatalf("no %T within an hour", zero)
		}
	}
}

// stops leaves when it is asked to.
func stops(ev member.Event) []member.Effect {
	if _, ok := ev.(member.Stop); ok {
		return []member.Effect{member.Left{}}
	}
	return nil
}

func open() protocol.Store { return memory.New().Open() }

// TestRun: the first event comes at once, alarms ring when they were asked for, a call's event follows it, and the end
// is in order.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var due protocol.Instant
		woken := 0
		r = start(t, open(), protocol.Config{}, func(ev member.Event) []member.Effect {
			if e, ok := ev.(member.Woken); ok {
				if woken++; woken == 1 {
					due = e.Now.Add(time.Minute)
					return []member.Effect{member.WakeAt{At: due}}
				}
				return []member.Effect{look{name: "x"}}
			}
			return stops(ev)
		})
		next[member.Woken](t, r)
		if e := next[member.Woken](t, r); e.Now != due {
			t.Errorf("woken at %d, want %d", e.Now, due)
		}
		if e := next[looked](t, r); e.Name != "x" || e.Err != nil || e.Now != due.Add(r.caller.takes) {
			t.Errorf("the answer of the call is %+v", e)
		}
		r.leave()
		if err := <-r.ended; err != nil || !r.caller.closed {
			t.Errorf("ended with %v, closed its caller: %v", err, r.caller.closed)
		}
		if _, open := <-r.m.Assignments(); open {
			t.Error("the channel of assignments is open after the end")
		}
	})
}

// TestACallIsLimited: a call ends with its time limit, and when the member ends; its event is taken or dropped, and no
// goroutine stays.
func TestACallIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := make(chan *rig, 1)
		r := start(t, open(), protocol.Config{}, func(ev member.Event) []member.Effect {
			if _, ok := ev.(member.Woken); ok {
				(<-started).caller.takes = time.Hour
				return []member.Effect{look{name: "slow"}}
			}
			return stops(ev)
		})
		started <- r
		if e := next[looked](t, r); !errors.Is(e.Err, context.DeadlineExceeded) {
			t.Errorf("the call ended with %v", e.Err)
		}
		r.left(t)
	})
}

// TestItLeavesInTime: a protocol that never lets go is ended after LeaveTimeout, or the TTL, with an error.
func TestItLeavesInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []protocol.Config{{LeaveTimeout: 7 * time.Second}, {TTL: 7 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, open(), c, func(member.Event) []member.Effect { return nil })
			next[member.Woken](t, r)
			from := time.Now()
			r.leave()
			err := <-r.ended
			if err == nil || !strings.Contains(err.Error(), "not done within 7s") || time.Since(from) != 7*time.Second {
				t.Errorf("ended after %v with %v", time.Since(from), err)
			}
		})
	}
}

// expiring has sessions that it ends by itself.
type expiring struct{ store.Full }

func (expiring) OpenSession(context.Context, time.Duration) (store.Session, error) { return nil, nil }
func (expiring) SessionsExpire() bool                                              { return true }
func (expiring) Watch(context.Context, string) (<-chan struct{}, error)            { return nil, nil }

// TestWhatAMemberIsToldOfItsStore, and what it says of itself: a TTL is stated that others believe.
func TestWhatAMemberIsToldOfItsStore(t *testing.T) {
	t.Parallel()
	type hints = member.Hints
	const ten = 10 * time.Second
	full, watched := struct{ store.Full }{memory.New().Open()}, struct {
		store.Full
		store.Watcher
	}{}
	for what, c := range map[string]struct { // order-free: each is judged alone
		store   protocol.Store
		alone   bool
		ttl     time.Duration
		longest time.Duration // 0: it cannot be
		want    member.Hints
	}{
		"all that it can":     {memory.New().Open(), false, ten, 8 * ten, hints{Log: true, Docs: true, Ends: true}},
		"heartbeats alone":    {memory.New().Open(), true, ten, 8 * ten, hints{Log: true, Docs: true}},
		"its sessions expire": {expiring{}, false, ten, 8 * ten, hints{Docs: true, Ends: true, Vanish: true}},
		"they are not used":   {expiring{}, true, ten, 8 * ten, hints{Docs: true}},
		"it has none":         {watched, false, ten, 8 * ten, hints{Docs: true, Ends: true}},
		"nothing":             {full, false, ten, 8 * ten, hints{}},
		"the shortest TTL":    {full, false, 300 * time.Millisecond, 2400 * time.Millisecond, hints{}},
		"a shorter one":       {full, false, 299 * time.Millisecond, 0, hints{}},
		"the longest TTL":     {full, false, 24 * time.Hour, 24 * time.Hour, hints{}},
		"a longer one":        {full, false, 24*time.Hour + 1, 0, hints{}},
		"no store":            {nil, false, ten, 0, hints{}},
	} {
		conf := protocol.Config{Member: "m", Store: c.store, NoSessions: c.alone, TTL: c.ttl, Slots: 1, Weight: 2,
			Capacity: 3, Labels: []cluster.Label{{Key: "k", Value: "v"}}, Address: "a", Version: "b"}
		var got member.Params
		_, err := shell.New(conf, anyStore{}, func(_ protocol.Config, p member.Params) (m shell.Machine[state]) {
			got = p
			return m
		})
		if (err == nil) != (c.longest > 0) || err == nil && (got.Hints != c.want || got.Longest != c.longest) {
			t.Errorf("%s: %v, %+v, a TTL of at most %s", what, err, got.Hints, got.Longest)
		}
		if j := got.Join; err == nil && (j.Member != "m" || j.Slots != 1 || j.Weight != 2 || j.Capacity != 3 ||
			len(j.Labels) != 1 || j.Address != "a" || j.Version != "b") {
			t.Errorf("%s: it joins as %+v", what, j)
		}
	}
}

// TestPropose: answers, refusals, unknown outcomes and the end of the member.
func TestPropose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := []member.Reply{
			{Results: []cluster.Result{{Accepted: true}}},
			{Err: "no"},
			{Err: "perhaps", Unknown: true},
		}
		r := start(t, open(), protocol.Config{}, func(ev member.Event) []member.Effect {
			if p, ok := ev.(member.Proposed); ok && len(answers) > 0 {
				a := answers[0]
				answers = answers[1:]
				a.ID = p.ID
				return []member.Effect{a, a} // the second one answers nobody
			}
			return stops(ev)
		})
		command := cluster.Configure{Retention: 5}
		if res, err := r.m.Propose(t.Context(), command); err != nil || len(res) != 1 || !res[0].Accepted {
			t.Errorf("accepted: %v, %v", res, err)
		}
		for _, want := range []string{"propose: no", "propose: outcome unknown: perhaps"} {
			if _, err := r.m.Propose(t.Context(), command); err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.m.Propose(short, command); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "unknown") {
			t.Errorf("without an answer: %v", err)
		}
		late := make(chan error)
		go func() {
			_, err := r.m.Propose(t.Context(), command)
			late <- err
		}()
		synctest.Wait()
		r.leave()
		if err := <-late; !errors.Is(err, shell.ErrStopped) {
			t.Errorf("its member ended: %v", err)
		}
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if _, err := r.m.Propose(t.Context(), command); !errors.Is(err, shell.ErrStopped) {
			t.Errorf("after the end: %v", err)
		}
		if _, err := r.m.Propose(t.Context(), cluster.SubmitJob{}); err == nil || errors.Is(err, shell.ErrStopped) {
			t.Error("a command that is none was taken")
		}
	})
}

// TestAssignments: the newest one is there, however many came before it; the status counts down.
func TestAssignments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, open(), protocol.Config{}, func(ev member.Event) (fx []member.Effect) {
			if e, ok := ev.(member.Woken); ok {
				for v := range uint64(3) {
					fx = append(fx, member.Assign{Assignment: protocol.Assignment{Version: v + 1,
						ValidUntil: e.Now.Add(time.Minute)}})
				}
				return fx
			}
			return stops(ev)
		})
		next[member.Woken](t, r)
		synctest.Wait()
		time.Sleep(20 * time.Second) // waits: in virtual time
		if a := <-r.m.Assignments(); a.Version != 3 {
			t.Errorf("assignment %d, want the newest", a.Version)
		}
		if st := r.m.Status(); st.LeaseMS != 40_000 || st.Pending != 1 {
			t.Errorf("status %+v", st)
		}
		if inc, until := r.m.Tenure(); inc != 1 || until.Sub(r.clock()) != 40*time.Second {
			t.Errorf("tenure %d until %d", inc, until)
		}
		time.Sleep(time.Minute) // waits: in virtual time, until the lease is over
		if st := r.m.Status(); st.LeaseMS != 0 {
			t.Errorf("status after the lease %+v", st)
		}
		r.m.Report(3, []protocol.Report{{Partition: "p"}})
		if e := next[member.Reported](t, r); e.Version != 3 || len(e.Reports) != 1 {
			t.Errorf("reported %+v", e)
		}
		r.left(t)
	})
}

// deaf has watches that it refuses.
type deaf struct{ store.Full }

func (deaf) Watch(context.Context, string) (<-chan struct{}, error) { return nil, errors.New("no") }

// TestWatches follow the state: those that stay are not opened again, and those of the past end.
func TestWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New().Open()
		turn := [][]string{{"a/", "b/"}, {"b/"}}
		react := func(ev member.Event) []member.Effect {
			switch ev.(type) {
			case member.Woken, member.Reported:
				fx := []member.Effect{look{prefixes: turn[0]}}
				turn = turn[1:]
				return fx
			}
			return stops(ev)
		}
		r := start(t, s, protocol.Config{}, react)
		put := func(key string) {
			t.Helper()
			must.Succeed(t, must.Err(s.Put(t.Context(), store.Doc{Key: key})))
			synctest.Wait()
		}
		hints := func() (out []string) {
			for {
				select {
				case ev := <-r.events:
					if h, ok := ev.(member.Hinted); ok && !slices.Contains(out, h.Prefix) {
						out = append(out, h.Prefix)
					}
				default:
					slices.Sort(out)
					return out
				}
			}
		}
		synctest.Wait()
		hints() // the first one of a watch may come at once
		put("a/1")
		put("b/1")
		must.Succeed(t, must.Err(s.Append(t.Context(), []byte("x"))))
		synctest.Wait()
		if got := hints(); !slices.Equal(got, []string{"", "a/", "b/"}) {
			t.Errorf("hints at %q", got)
		}
		r.m.Report(0, nil)
		synctest.Wait()
		hints()
		put("a/2")
		put("b/2")
		if got := hints(); !slices.Equal(got, []string{"b/"}) {
			t.Errorf("hints at %q after the watch of a/ has ended", got)
		}
		r.left(t)
	})
}

// TestRefusedWatches are replaced by the clock.
func TestRefusedWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, deaf{memory.New().Open()}, protocol.Config{TTL: 20 * time.Second},
			func(ev member.Event) []member.Effect {
				if _, ok := ev.(member.Woken); ok {
					return []member.Effect{look{prefixes: []string{"a/"}}}
				}
				return stops(ev)
			})
		first := next[member.Hinted](t, r)
		if second := next[member.Hinted](t, r); first.Prefix != "a/" || second.Now.Sub(first.Now) != time.Second {
			t.Errorf("hints %+v and %+v", first, second)
		}
		r.left(t)
	})
}

// TestEvents: the callbacks hear what the effects say; own deeds are those of this start's entries, each once.
func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		events := protocol.Events{
			Joined:  func(cluster.Incarnation) { heard = append(heard, "joined") },
			Removed: func(reason string) { heard = append(heard, "removed: "+reason) },
			Changed: func(cluster.Value) { heard = append(heard, "changed") },
			Did: func(_ cluster.Value, deeds []protocol.Deed) {
				for _, d := range deeds {
					heard = append(heard, "did "+d.Result.Reason)
				}
			},
			Refused:   func(key, reason string) { heard = append(heard, "refused "+key+": "+reason) },
			StoreLost: func(err error) { heard = append(heard, "lost: "+err.Error()) },
			StoreBack: func(after time.Duration) { heard = append(heard, "back after "+after.String()) },
		}
		entry := func(w cluster.WriterID, reason string, duplicate bool) protocol.Applied {
			return protocol.Applied{
				Entry:     cluster.Entry{Writer: w, Commands: []cluster.Command{cluster.Configure{}}},
				Results:   []cluster.Result{{Reason: reason}},
				Duplicate: duplicate,
			}
		}
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		r := start(t, open(), protocol.Config{Events: events, Logger: logger}, func(ev member.Event) []member.Effect {
			if _, ok := ev.(member.Woken); !ok {
				return []member.Effect{member.Halt{Err: errors.New("wrong")}}
			}
			return []member.Effect{
				member.Joining{Incarnation: 1}, member.StoreChanged{Err: "away"}, member.StoreChanged{},
				member.Refusing{Key: "k", Reason: "foreign"}, member.Refusing{Key: "k", Reason: "foreign"},
				member.Refusing{Key: "k", Reason: "newer"},
				member.Applying{
					Entries: []protocol.Applied{entry("", "one", false), entry("", "again", true),
						entry("o-1", "other", false)},
					Deeds: []protocol.Deed{{Result: cluster.Result{Reason: "two"}}},
				},
				member.Removing{Reason: "silent"},
			}
		})
		next[member.Woken](t, r)
		r.leave()
		if err := <-r.ended; err == nil || err.Error() != "wrong" {
			t.Errorf("halted with %v", err)
		}
		want := []string{"joined", "lost: away", "back after 0s", "refused k: foreign", "refused k: newer", "did one",
			"did two", "changed", "removed: silent"}
		if !slices.Equal(heard, want) {
			t.Errorf("heard %q\nwant  %q", heard, want)
		}
		for _, said := range []string{"the store does not answer", "the store answers again"} {
			if !strings.Contains(log.String(), said) {
				t.Errorf("a log of warnings does not say that %s: %s", said, log.String())
			}
		}
	})
}
