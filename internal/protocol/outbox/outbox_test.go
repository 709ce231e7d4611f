package outbox_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

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
	kill := func(jobs ...cluster.JobID) (out []cluster.Command) {
		for _, id := range jobs {
			out = append(out, cluster.KillJob{Job: id})
		}
		return out
	}
	goes := func(b outbox.Box, own []cluster.Command, holdBack bool, want ...cluster.Command) outbox.Box {
		t.Helper()
		b = b.Compose(9, "w", cluster.Value{}, own, holdBack)
		var got []cluster.Command
		if b.Pending != nil {
			got = b.Pending.Entry.Commands
		}
		if !slices.Equal(got, want) {
			t.Errorf("the entry has %v, want %v", got, want)
		}
		return b
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
