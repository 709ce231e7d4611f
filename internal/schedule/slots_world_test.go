package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// slotWorld is a cluster of slots and jobs whose plans are carried out at once.
type slotWorld struct {
	scheduler JobScheduler
	jobs      []Job
	slots     []Slot // of all members, sorted
	clock     uint64
}

func (w *slotWorld) tick() uint64 {
	w.clock++
	return w.clock
}

func (w *slotWorld) addMember(id string, slots int64) {
	for n := range slots {
		w.slots = append(w.slots, Slot{id, n + 1})
	}
	slices.SortFunc(w.slots, compareSlots)
}

func (w *slotWorld) dropSlots(gone func(Slot) bool) {
	w.slots = slices.DeleteFunc(w.slots, gone)
	for j := range w.jobs {
		for t := range w.jobs[j].Tasks {
			task := &w.jobs[j].Tasks[t]
			task.Held = slices.DeleteFunc(task.Held, func(h Held) bool { return gone(h.Slot) })
		}
	}
}

func (w *slotWorld) dropMember(id string) { w.dropSlots(func(s Slot) bool { return s.Member == id }) }

func (w *slotWorld) submit(j Job) {
	j.Submitted = w.tick()
	j.Since = j.Submitted
	w.jobs = append(w.jobs, j)
}

// pool is what the world shows to Allocate: slots that nobody holds are free.
func (w *slotWorld) pool() *Pool {
	held := make(map[Slot]bool)
	for j := range w.jobs {
		for t := range w.jobs[j].Tasks {
			for _, h := range w.jobs[j].Tasks[t].Held {
				held[h.Slot] = true
			}
		}
	}
	p := &Pool{Scheduler: w.scheduler, Jobs: w.jobs}
	for _, s := range w.slots {
		if !held[s] {
			p.Free = append(p.Free, s)
		}
	}
	return p
}

// plan allocates and carries it out.
func (w *slotWorld) plan(t testing.TB) Allocation {
	t.Helper()
	now := w.tick()
	p := w.pool()
	a := Allocate(p)
	if a.Lacking != 0 {
		t.Fatalf("%d slots are lacking, but none is busy", a.Lacking)
	}
	for _, m := range a.Moves {
		w.move(t, m, now)
	}
	for j := range w.jobs {
		if w.jobs[j].Passed && !a.Shares[j].Passed {
			w.jobs[j].Since = now
		}
		w.jobs[j].Passed = a.Shares[j].Passed
		for k := range w.jobs[j].Tasks {
			if got := int64(len(w.jobs[j].Tasks[k].Held)); got != a.Shares[j].Tasks[k] {
				t.Fatalf("%s/%s has %d slots after the moves, its share is %d", w.jobs[j].ID, w.jobs[j].Tasks[k].Name, got, a.Shares[j].Tasks[k])
			}
		}
	}
	return a
}

func (w *slotWorld) move(t testing.TB, m SlotMove, now uint64) {
	t.Helper()
	if m.From == m.To {
		t.Fatalf("a move to where it is: %+v", m)
	}
	for j := range w.jobs {
		for k := range w.jobs[j].Tasks {
			task := &w.jobs[j].Tasks[k]
			at := slices.IndexFunc(task.Held, func(h Held) bool { return h.Slot == m.Slot })
			if (at >= 0) != (m.From == Post{j, k}) {
				t.Fatalf("move %+v: %s/%s", m, w.jobs[j].ID, task.Name)
			}
			if at >= 0 {
				task.Held = slices.Delete(slices.Clone(task.Held), at, at+1)
			}
		}
	}
	if m.To != NoPost {
		task := &w.jobs[m.To.Job].Tasks[m.To.Task]
		task.Held = append(slices.Clone(task.Held), Held{m.Slot, now})
	}
}

// String is who runs what, in canonical text.
func (w *slotWorld) String() string {
	var b strings.Builder
	for j := range w.jobs {
		fmt.Fprintf(&b, "%s:", w.jobs[j].ID)
		for t := range w.jobs[j].Tasks {
			task := &w.jobs[j].Tasks[t]
			if task.Finished {
				fmt.Fprintf(&b, " %s finished", task.Name)
				continue
			}
			fmt.Fprintf(&b, " %s[%s]", task.Name, strings.Join(heldNames(task.Held), " "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func heldNames(held []Held) []string {
	held = slices.Clone(held)
	slices.SortFunc(held, func(a, b Held) int { return cmp.Or(cmp.Compare(a.Since, b.Since), compareSlots(a.Slot, b.Slot)) })
	out := make([]string, len(held))
	for i, h := range held {
		out[i] = h.String()
		if h.Number == 1 {
			out[i] = h.Member // its only slot, mostly
		}
	}
	return out
}

func (w *slotWorld) jobAt(id string) int {
	return slices.IndexFunc(w.jobs, func(j Job) bool { return j.ID == id })
}
