package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	planned "github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// lists is a store that notes what is listed.
type lists struct {
	store.Docs
	dirs []string
}

func (l *lists) List(ctx context.Context, dir string) ([]store.Doc, error) {
	l.dirs = append(l.dirs, dir)
	return l.Docs.List(ctx, dir)
}

func newLeaf(queue string, listed protocol.Instant, waiting int) *leaf {
	return &leaf{at: place{queue: queue, page: "p"}, listed: listed, waiting: make([]candidate, waiting),
		lost: new(atomic.Int64), failed: new(atomic.Bool)}
}

// While all slots are taken a member lists one page now and then: the one that it has not listed for longest, of those
// with nothing left to claim.
func TestWhichPageIsPeekedAt(t *testing.T) {
	t.Parallel()
	m := memory.New().Open()
	defer m.Close()
	docs := &lists{Docs: m}
	w := must.Get(NewWorker(RunnerConfig{Member: "a", Docs: docs}))(t)
	b := &w.backlog
	now := protocol.Instant(0).Add(time.Hour)
	for i, l := range []*leaf{newLeaf("full", 1, 1), newLeaf("newer", 3, 0), newLeaf("older", 2, 0),
		newLeaf("just", now, 0)} {
		l.version = store.Version(fmt.Sprint(i))
		b.queues = append(b.queues, &queue{name: l.at.queue, pages: []*leaf{l}})
	}
	b.held = mostHeld + 1
	b.peek(t.Context(), now)
	if len(docs.dirs) != 0 {
		t.Errorf("it lists %v though it holds enough", docs.dirs)
	}
	for range 3 {
		b.held = mostHeld
		b.peek(t.Context(), now)
	}
	if want := []string{"call/older/p/", "call/newer/p/"}; len(docs.dirs) != 2 ||
		!strings.HasSuffix(docs.dirs[0], "older/p/") || !strings.HasSuffix(docs.dirs[1], "newer/p/") {
		t.Errorf("it lists %v, want %v", docs.dirs, want)
	}
}

// When a page is worth listing again: the more pages there are, and the more of them may grow, the later.
func TestWhenAPageIsListed(t *testing.T) {
	t.Parallel()
	now := protocol.Instant(0).Add(time.Hour)
	young, hinted := now.Add(-pageYoung+1), now.Add(time.Minute)
	for name, c := range map[string]struct {
		change func(*leaf, *backlog)
		want   time.Duration
	}{
		"alone":            {func(*leaf, *backlog) {}, pageLazily},
		"of 100":           {func(_ *leaf, b *backlog) { b.pages = 100 }, pageLazily + 100*pageLazier},
		"never listed":     {func(l *leaf, _ *backlog) { l.listed = 0 }, -time.Hour},
		"members changed":  {func(_ *leaf, b *backlog) { b.epoch++ }, 0},
		"one claim lost":   {func(l *leaf, _ *backlog) { l.lost.Add(1) }, pageLazily},
		"two claims lost":  {func(l *leaf, _ *backlog) { l.lost.Add(2) }, pageSoonest},
		"the store failed": {func(l *leaf, _ *backlog) { l.failed.Store(true) }, pageFailed},
		"newest, no hint": {func(l *leaf, b *backlog) { l.newest, l.hint, b.hintAt = true, hinted, hinted },
			pageLazily},
		"newest, a hint": {func(l *leaf, b *backlog) { l.newest, b.hintAt, b.open = true, hinted, 3 }, pageSoonest},
		"of many callers": {func(l *leaf, b *backlog) { l.newest, b.hintAt, b.open = true, hinted, 300 },
			300 * time.Millisecond},
		"young, a hint":   {func(l *leaf, b *backlog) { l.aged, b.hintAt = young, hinted }, pageSoonest},
		"aged, a hint":    {func(l *leaf, b *backlog) { l.aged, b.hintAt = young-1, hinted }, pageLazily},
		"one is due":      {func(l *leaf, _ *backlog) { l.dueAt = now.Add(time.Second) }, time.Second},
		"one is due now":  {func(l *leaf, _ *backlog) { l.dueAt = now }, pageSoonest},
		"one is due late": {func(l *leaf, _ *backlog) { l.dueAt = now.Add(time.Minute) }, pageLazily},
	} {
		l, b := newLeaf("q", now, 0), &backlog{}
		c.change(l, b)
		if got := l.listIn(b, now); got != c.want {
			t.Errorf("%s: in %s, want %s", name, got, c.want)
		}
	}
}

// Pages that may grow are those that are the newest of their client.
func TestOpenPages(t *testing.T) {
	t.Parallel()
	b := &backlog{}
	for _, id := range []string{"q/c-1-0/000", "q/c-1-1/000", "q/d-1-0/000", "r/c-1-0/000"} {
		at := must.Get(parseID(id))(t)
		b.add(&leaf{at: at}, 7)
	}
	var newest []bool
	for _, q := range b.queues {
		for _, l := range q.pages {
			newest = append(newest, l.newest)
		}
	}
	if b.open != 3 || len(b.queues) != 2 || !slices.Equal(newest, []bool{false, true, true, true}) ||
		b.queues[0].pages[0].aged != 7 {
		t.Errorf("%d open, newest %v", b.open, newest)
	}
}

// When the pages could not be listed, they are listed again soon, even without a hint.
func TestAFailedListIsMadeAgain(t *testing.T) {
	t.Parallel()
	docs := planned.NewFaulty(memory.New().Open(), nil)
	defer docs.Close()
	b := &must.Get(NewWorker(RunnerConfig{Member: "a", Docs: docs}))(t).backlog
	now := protocol.Instant(0).Add(time.Hour)
	docs.Away(true)
	first := b.refresh(t.Context(), now, 1)
	docs.Away(false)
	if b.refresh(t.Context(), now.Add(first), 1); first != headsBusy || b.listed != now.Add(first) {
		t.Errorf("again after %s, the last list %s after the first", first, b.listed.Sub(now))
	}
}

// A new list of the pages keeps the turn: the queue after the one that was served last is next.
func TestQueuesKeepTheirTurns(t *testing.T) {
	t.Parallel()
	of := func(names ...string) (out []*queue) {
		for _, name := range names {
			out = append(out, &queue{name: name})
		}
		return out
	}
	for _, c := range []struct {
		old, now []*queue
		turn     int
		want     int
	}{
		{of("a", "b", "c"), of("a", "b", "c"), 1, 1}, {of("b", "c"), of("a", "b", "c"), 0, 1},
		{of("a", "b", "c"), of("a"), 2, 0}, {nil, of("a", "b"), 0, 0}, {of("a"), of("a", "b"), 1, 0},
	} {
		b := &backlog{queues: c.now, turn: c.turn}
		if b.keepTurns(c.old); b.turn != c.want {
			t.Errorf("turn %d of %d, now of %d: %d, want %d", c.turn, len(c.old), len(c.now), b.turn, c.want)
		}
	}
}

// A member keeps no call that it cannot run: one of a function that it does not have, or one that it runs already.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	w, _ := worker(t, docs, nil)
	w.backlog.regard(alone(t, "m"))
	w.runs["runs"] = &run{}
	for key, c := range map[string]struct {
		function string
		want     bool
	}{"waits": {"f", true}, "runs": {"f", false}, "of others": {"g", false}} {
		if got := w.backlog.claimable(&candidate{stored: stored{key: key, Record: Record{Function: c.function,
			State: Queued}}}); got != c.want {
			t.Errorf("%s: %t", key, got)
		}
	}
}

// Members begin with their own share, and wait a little longer for each share that is farther away, but not without
// end.
func TestDistances(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rank, of, ordinal int
		want              time.Duration
	}{
		{0, 1, 5, 0}, {1, 3, 1, 0}, {1, 3, 4, 0}, {1, 3, 2, stagger + time.Millisecond},
		{1, 3, 0, stagger + 2*time.Millisecond}, {0, 100, 99, stagger + 20*time.Millisecond},
	} {
		if got := (&backlog{rank: c.rank, of: c.of}).distance(c.ordinal); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	v := cluster.Value{}
	for i, slots := range []int64{1, 0, 1, 1} { // the second runs no calls: nobody leaves it a share
		name := cluster.MemberID("m" + strconv.Itoa(i))
		v, _ = v.Apply(cluster.Entry{Index: cluster.Index(i + 1), Writer: "w", Seq: uint64(i + 1), Commands: []cluster.Command{
			cluster.PrepareJoin{Member: name, Slots: slots, Weight: 100, Heartbeat: "pulse"},
			cluster.AcceptJoin{Member: name, Incarnation: cluster.Incarnation(i + 1),
				By: cluster.MemberID("m" + strconv.Itoa(i-1)), ByIncarnation: cluster.Incarnation(i)},
		}})
	}
	b := must.Get(NewWorker(RunnerConfig{Member: "m3"}))(t).backlog
	if b.regard(v); b.rank != 2 || b.of != 3 {
		t.Errorf("the last is number %d of %d: %v", b.rank, b.of, v)
	}
}

// A call rests from when it was seen first, and may be claimed once that time is over.
func TestACallRests(t *testing.T) {
	t.Parallel()
	b, l := &backlog{of: 1}, &leaf{}
	now := protocol.Instant(0).Add(time.Hour)
	c := &candidate{stored: stored{key: "k", version: "1", Record: Record{State: Queued, BackoffMS: 100}}}
	if !l.rests(b, c, nil, 0, now) || l.dueAt != now.Add(100*time.Millisecond) {
		t.Errorf("due %d", l.dueAt)
	}
	seen := l.later
	for after, want := range map[time.Duration]bool{99 * time.Millisecond: true, 100 * time.Millisecond: false,
		time.Second: false} {
		if got := (&leaf{}).rests(b, c, seen, 0, now.Add(after)); got != want {
			t.Errorf("after %s it rests: %t", after, got)
		}
	}
	c.version = "2"
	if !(&leaf{}).rests(b, c, seen, 0, now.Add(time.Second)) {
		t.Error("what has changed since rests again")
	}
}

// An attempt that fails has a record; one that was cancelled has none.
func TestWhatIsJournaled(t *testing.T) {
	t.Parallel()
	for state, want := range map[State]string{Queued: "call id, attempt 2 of 3: no luck",
		Failed: "call id, attempt 2 of 3: no luck", Cancelled: ""} {
		got := ""
		w := must.Get(NewWorker(RunnerConfig{Journal: func(r journal.Record) { got = r.Message }}))(t)
		before := Record{State: Running, Function: "f", Attempt: 2, Limits: Limits{Attempts: 3}}
		next := before
		next.State = state
		(&run{w: w, id: "id"}).tell(before, told{event: fail{Error: "no luck"}, next: next})
		if got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
}

// A run that takes a while is looked at: 200 ms after its beginning, not only after many.
func TestARunIsChecked(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		docs := memory.New().Open()
		defer docs.Close()
		w := must.Get(NewWorker(RunnerConfig{Docs: docs}))(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &run{w: w, key: "call/q/p/000", since: time.Now(), ctx: ctx, cancel: cancel} // whose document is gone
		w.runs[r.key] = r
		time.Sleep(checkEvery / 2) // waits: in virtual time
		if w.check(t.Context()); ctx.Err() != nil {
			t.Errorf("a short run was stopped: %v", context.Cause(ctx))
		}
		time.Sleep(time.Nanosecond) // waits: in virtual time
		if w.check(t.Context()); !errors.Is(context.Cause(ctx), CauseReplaced) {
			t.Errorf("got %v", context.Cause(ctx))
		}
	})
}

// The bounds at their exact maximum, and what has no bound.
func TestExactBounds(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]bool{9: true, 10: true, 11: false} {
		if _, ok := (way{result: json.RawMessage(strings.Repeat("1", bytes))}).event("id",
			Limits{ResultBytes: 10}).(finish); ok != want {
			t.Errorf("a result of %d bytes of 10 is one: %t", bytes, ok)
		}
	}
	if got := cut(strings.Repeat("x", 4<<10)); len(got) != 4<<10 {
		t.Errorf("an error at the bound has %d bytes", len(got))
	}
	for attempts, want := range []int64{1: 10, 2: 20, 3: 40, 4: 50, 100: 50} {
		if got := (Limits{BackoffMS: 10, MaxBackoffMS: 50}).backoff(int64(attempts)); want != 0 && got != want {
			t.Errorf("after %d attempts: %d ms, want %d", attempts, got, want)
		}
	}
	if got := (Limits{BackoffMS: 100, MaxBackoffMS: 50}).backoff(1); got != 100 {
		t.Errorf("a first back-off above the maximum: %d ms", got)
	}
	c := must.Get(NewClient(memory.New().Open(), ClientOptions{}))(t)
	defer c.Close()
	for size, want := range map[int]bool{MostArg: true, MostArg + 1: false} {
		_, err := c.Submit(t.Context(), "f", []byte(strings.Repeat("1", size)), Options{})
		if got := err == nil || !strings.Contains(err.Error(), "are allowed"); got != want {
			t.Errorf("an argument of %d bytes: %v", size, err)
		}
	}
	running := Record{State: Running}
	asked, first := step(running, "id", requestCancel{})
	if _, again := step(asked, "id", requestCancel{}); !first || !asked.Cancel || again {
		t.Errorf("a cancel is written once: %t, %t", first, again)
	}
	if n, m := numberOf(prefix+"q/p/007"), numberOf(prefix+"q/p/x"); n != 7 || m >= 0 {
		t.Errorf("numbers %d and %d; what is no call has none", n, m)
	}
}
