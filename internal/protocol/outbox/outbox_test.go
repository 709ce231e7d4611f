package outbox_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// world is a log, a writer, and what it was asked.
type world struct {
	t        *rapid.T
	log      []cluster.Entry
	value    cluster.Value // that the writer has applied
	box      outbox.Box
	asked    []outbox.Request
	answered map[uint64]outbox.Answer
	late     []cluster.Entry // appends of unknown outcome that may still come
	now      protocol.Instant
}

func (w *world) take(box outbox.Box, answers []outbox.Answer) {
	w.box = box
	for _, a := range answers {
		if _, twice := w.answered[a.ID]; twice {
			w.t.Fatalf("request %d is answered twice", a.ID)
		}
		w.answered[a.ID] = a
	}
}

func (w *world) store(e cluster.Entry) cluster.Index {
	e.Index = cluster.Index(len(w.log) + 1)
	w.log = append(w.log, e)
	return e.Index
}

func (w *world) read() {
	for _, e := range w.log[w.value.Index():] {
		next, done := w.value.Apply(e)
		w.value = next
		if done.Duplicate {
			w.take(w.box.Lost(w.value.Wrote("w")))
		} else if e.Writer == "w" && w.box.Waits(e.Seq) {
			if w.take(w.box.Applied(0, done.Results)); !w.box.Busy && w.box.Rests(w.now) {
				w.t.Fatal("it waits for a retry of what was applied")
			}
		}
	}
}

// failed: an append has failed, and waits for a while before it is tried again.
func (w *world) failed(o outbox.Outcome) {
	w.box.Busy = false
	w.box, _ = w.box.Failed(o, "", w.now+1)
	inOrder := slices.IsSortedFunc(w.box.Queue, func(a, b outbox.Request) int { return cmp.Compare(a.ID, b.ID) })
	if !w.box.Rests(w.now) || !inOrder {
		w.t.Fatalf("it is tried again at once, or requests have lost their places: %+v", w.box.Queue)
	}
}

func (w *world) append() {
	if w.now++; w.box.Rests(w.now) {
		return
	}
	if w.box.Pending == nil {
		w.box = w.box.Compose(0, "w", w.value, nil, false)
	}
	if !w.box.Again(w.value.Index()) {
		return
	}
	w.box.Busy = true
	e, maybe := w.box.Pending.Entry, w.box.Pending.Maybe
	what := rapid.IntRange(0, 4).Draw(w.t, "outcome")
	switch what {
	case 0:
		w.failed(outbox.NotDone)
	case 1:
		w.late = append(w.late, e)
		w.failed(outbox.Unknown)
	case 2:
		w.store(e)
		w.failed(outbox.Unknown) // and done
	case 3:
		w.box.Busy = false
		if w.take(w.box.TooLarge("too large")); maybe && w.box.Pending != nil {
			w.t.Fatal("what may have been stored is sent for ever")
		}
	default:
		i := w.store(e) // done
		if rapid.Bool().Draw(w.t, "read first") {
			w.read()
		}
		if w.box.Busy = false; w.box.Waits(e.Seq) {
			w.box = w.box.At(i)
		}
	}
}

// Whatever becomes of appends, each request is answered once and counts once, with its own results; what was answered
// as not done never counts.
func TestEachRequestCountsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, answered: make(map[uint64]outbox.Answer)}
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 40).Draw(t, "steps")
		for _, s := range steps {
			switch s {
			case 0, 1:
				w.ask()
			case 2:
				w.read()
			case 3:
				if len(w.late) > 0 {
					w.store(w.late[0])
					w.late = w.late[1:]
				}
			default:
				w.append()
			}
		}
		for range 1000 {
			if w.read(); len(w.answered) == len(w.asked) {
				break
			}
			w.append()
		}
		w.judge()
	})
}

func (w *world) ask() {
	r := outbox.Request{ID: uint64(len(w.asked) + 1)}
	for i := range rapid.IntRange(1, 3).Draw(w.t, "commands") {
		id := cluster.JobID(fmt.Sprintf("j%d-%d", r.ID, i))
		spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}
		if i == 1 {
			spec = cluster.JobSpec{} // refused
		}
		r.Commands = append(r.Commands, cluster.SubmitJob{Job: id, Spec: spec})
	}
	w.asked = append(w.asked, r)
	w.box = w.box.With(r)
}

func (w *world) judge() {
	for _, e := range w.late {
		w.store(e)
	}
	w.read()
	for _, r := range w.asked {
		a, ok := w.answered[r.ID]
		if !ok {
			w.t.Fatalf("request %d has no answer", r.ID)
		}
		for i, c := range r.Commands {
			_, there := w.value.Job(c.(cluster.SubmitJob).Job)
			done := a.Err == "" && a.Results[i].Accepted
			if !a.Unknown && there != done || a.Err == "" && done != (i != 1) {
				w.t.Fatalf("request %d has answer %+v, and job %d is there: %v", r.ID, a, i, there)
			}
		}
	}
}

// TestWhatGoesIntoAnEntry: what the state asks for before requests, unless they are held back; what was refused goes
// alone, and so do, one after the other, things that readers passed over together.
func TestWhatGoesIntoAnEntry(t *testing.T) {
	t.Parallel()
	goes := func(b outbox.Box, own []cluster.Command, holdBack bool, want ...cluster.Command) outbox.Box {
		t.Helper()
		return compose(t, b, 9, own, holdBack, want...)
	}
	done := func(b outbox.Box, accepted bool) outbox.Box {
		b, _ = b.Applied(9, slices.Repeat([]cluster.Result{{Accepted: accepted}}, len(b.Pending.Entry.Commands)))
		return b
	}
	var b outbox.Box
	b.Queue = make([]outbox.Request, 0, 8)
	b = b.With(outbox.Request{ID: 1, Commands: kill("r")})
	one, two := b.With(outbox.Request{ID: 2, Commands: kill("s")}), b.With(outbox.Request{ID: 2, Commands: kill("t")})
	goes(one, nil, false, kill("r", "s")...)
	goes(two, nil, false, kill("r", "t")...)
	goes(one, kill("x"), true, kill("x")...)
	goes(one, nil, true)

	refused := done(goes(one, kill("x", "y"), true, kill("x", "y")...), false)
	if refused.Refused != 2 {
		t.Errorf("%d were refused, want 2", refused.Refused)
	}
	refused = done(goes(refused, kill("x", "y"), false, kill("x")...), true)
	goes(refused, kill("x", "y"), false, kill("y")...)

	over := goes(one, kill("x"), false, kill("x", "r", "s")...)
	over, _ = over.At(3).At(4).Passed(4, 9)
	for _, job := range []cluster.JobID{"x", "r", "s"} {
		var own []cluster.Command
		if job == "x" {
			own = kill("x")
		}
		over = done(goes(over, own, false, kill(job)...), true)
	}
	over = over.With(outbox.Request{ID: 3, Commands: kill("u")}).With(outbox.Request{ID: 4, Commands: kill("v")})
	goes(over, nil, false, kill("u", "v")...)
}

func kill(jobs ...cluster.JobID) (out []cluster.Command) {
	for _, id := range jobs {
		out = append(out, cluster.KillJob{Job: id})
	}
	return out
}

func compose(t *testing.T, b outbox.Box, now protocol.Instant, own []cluster.Command, holdBack bool,
	want ...cluster.Command) outbox.Box {
	t.Helper()
	b = b.Compose(now, "w", cluster.Value{}, own, holdBack)
	var got []cluster.Command
	if b.Pending != nil {
		got = b.Pending.Entry.Commands
	}
	if !slices.Equal(got, want) {
		t.Errorf("the entry has %v, want %v", got, want)
	}
	return b
}

// TestWhatBecomesOfAnEntry: one row for each outcome of an append, of an entry with these requests behind what the
// state asked for.
func TestWhatBecomesOfAnEntry(t *testing.T) {
	t.Parallel()
	type outcome func(outbox.Box) (outbox.Box, []outbox.Answer)
	failed := func(o outbox.Outcome) outcome {
		return func(b outbox.Box) (outbox.Box, []outbox.Answer) { return b.Failed(o, "why", 50) }
	}
	passed := func(acks int, applied cluster.Index) outcome {
		return func(b outbox.Box) (outbox.Box, []outbox.Answer) {
			for range acks {
				b = b.At(7)
			}
			return b.Passed(applied, 9)
		}
	}
	lost := func(wrote uint64) outcome {
		return func(b outbox.Box) (outbox.Box, []outbox.Answer) { return b.Lost(wrote) }
	}
	maybe := func(then outcome) outcome {
		return func(b outbox.Box) (outbox.Box, []outbox.Answer) {
			b, _ = b.Failed(outbox.Unknown, "why", 50)
			return then(b)
		}
	}
	x, y, r, s := kill("x"), kill("x", "y"), kill("r"), kill("r", "s")
	for name, c := range map[string]struct { // order-free: each alone
		own      []cluster.Command
		requests [][]cluster.Command
		then     outcome
		want     string // pending, queued, limit, refused, next, answers
	}{
		"not done":                    {x, [][]cluster.Command{r}, failed(outbox.NotDone), "false 1 0 0 50"},
		"unknown":                     {x, [][]cluster.Command{r}, failed(outbox.Unknown), "true 0 0 0 50"},
		"unknown, then not done":      {x, [][]cluster.Command{r}, maybe(failed(outbox.NotDone)), "true 0 0 0 50"},
		"too large":                   {x, [][]cluster.Command{r, r}, failed(outbox.Refused), "false 2 1 0 0"},
		"requests too large":          {nil, [][]cluster.Command{s, s}, failed(outbox.Refused), "false 2 2 0 0"},
		"one request too large":       {nil, [][]cluster.Command{s}, failed(outbox.Refused), "false 0 0 0 0 why/false"},
		"unknown, then too large":     {x, [][]cluster.Command{r}, maybe(failed(outbox.Refused)), "false 0 0 0 50 why/true"},
		"what is wanted too large":    {x, nil, failed(outbox.Refused), "false 0 0 1 0"},
		"much that is wanted, too":    {y, nil, failed(outbox.Refused), "false 0 1 0 0"},
		"trimmed, and not written":    {x, [][]cluster.Command{r}, lost(0), "true 0 0 0 0"},
		"trimmed, and written":        {x, [][]cluster.Command{r}, lost(1), "false 0 0 0 0 it/true"},
		"acknowledged once":           {nil, [][]cluster.Command{r}, passed(1, 9), "true 0 0 0 0"},
		"acknowledged twice, unread":  {nil, [][]cluster.Command{r}, passed(2, 6), "true 0 0 0 0"},
		"one request is passed over":  {nil, [][]cluster.Command{r}, passed(2, 7), "false 0 0 1 0 it/false"},
		"what is wanted is, too":      {x, nil, passed(2, 7), "false 0 0 1 0"},
		"of several nobody can say":   {x, [][]cluster.Command{r}, passed(2, 7), "false 1 0 0 0"},
		"acknowledged, and not there": {x, [][]cluster.Command{r}, passed(0, 9), "true 0 0 0 0"},
	} {
		var b outbox.Box
		for i, commands := range c.requests {
			b = b.With(outbox.Request{ID: uint64(i), Commands: commands})
		}
		b, answers := c.then(b.Compose(9, "w", cluster.Value{}, c.own, false))
		got := fmt.Sprint(b.Pending != nil, len(b.Queue), b.Limit, b.Refused, b.Next)
		for _, a := range answers {
			why, _, _ := strings.Cut(a.Err, " ")
			got += fmt.Sprintf(" %s/%t", why, a.Unknown)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestWhatIsRefusedAgain is tried ever more seldom, whatever it says to people; an acknowledged entry is appended again
// when all before it has been read.
func TestWhatIsRefusedAgain(t *testing.T) {
	t.Parallel()
	var b outbox.Box
	now := protocol.Instant(9)
	leave := func(reason string) cluster.Command {
		return cluster.LeaveCluster{Member: "m", Incarnation: 1, Reason: reason}
	}
	for try, pause := range []time.Duration{0, 0, 0, time.Second, 2 * time.Second, 4 * time.Second} {
		reason := fmt.Sprint("silent for ", try)
		b = compose(t, b, now, []cluster.Command{leave(reason)}, false, leave(reason))
		if b = b.At(5); b.Again(4) || !b.Again(5) {
			t.Error("it is appended again before all is read, or never")
		}
		b, _ = b.Applied(now, []cluster.Result{{}})
		if pause > 0 {
			b = compose(t, b, now.Add(pause)-1, []cluster.Command{leave("early")}, false)
		}
		now = now.Add(pause)
	}
	b = compose(t, b, now-1, nil, false) // nobody wants it any more: it is forgotten
	compose(t, b, now, []cluster.Command{leave("later")}, false, leave("later"))
	b = outbox.Box{Limit: 2}
	for id := range uint64(3) {
		b = b.With(outbox.Request{ID: id, Commands: kill("r")})
	}
	compose(t, b, now, kill("x"), false, kill("x", "r")...)
	compose(t, b, now, kill("x", "y", "z"), false, kill("x", "y")...)
}
