package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// world is what a test plans for: the plain form of a table.
type world struct {
	members []Member
	classes []Class
	items   []Item
}

func (w *world) view() *Table { return NewTable(w.members, w.classes, w.items) }

// apply carries a plan out. Members, classes and items of a world are sorted, so the indexes of moves are its own.
func (w *world) apply(t testing.TB, p Plan) {
	t.Helper()
	for _, m := range p.Moves {
		at, ok := slices.BinarySearchFunc(w.items, m.Item, func(i Item, id string) int {
			switch {
			case i.ID < id:
				return -1
			case i.ID > id:
				return 1
			}
			return 0
		})
		if !ok || w.items[at].Owner != m.From || w.items[at].Class != m.Class || m.From == m.To {
			t.Fatalf("move %+v does not fit %+v", m, w.items[at])
		}
		if m.From >= 0 && !w.items[at].Movable {
			t.Fatalf("move %+v of an item that may not be moved", m)
		}
		w.items[at].Owner = m.To
	}
}

func (w *world) loads() (load, count []int64) {
	load, count = make([]int64, len(w.members)), make([]int64, len(w.members))
	for _, i := range w.items {
		if i.Owner >= 0 {
			load[i.Owner] += itemWeight(&w.classes[i.Class])
			count[i.Owner]++
		}
	}
	return load, count
}

// allowed is the dumb reading of the rules.
func (w *world) allowed(m int, c *Class) bool {
	if c.Pin != "" && c.Pin != w.members[m].ID {
		return false
	}
	for _, l := range c.Selector {
		if !slices.Contains(w.members[m].Labels, l) {
			return false
		}
	}
	return c.SpreadOver == "" || w.zone(m, c.SpreadOver) != ""
}

func (w *world) zone(m int, label string) string {
	for _, l := range w.members[m].Labels {
		if l.Key == label {
			return l.Value
		}
	}
	return ""
}

// plain draws a world with one class, no labels, no capacities; every item owned by someone or nobody.
func plain(t *rapid.T, weighted bool) *world {
	w := &world{classes: []Class{{Key: "c", Weight: rapid.Int64Range(1, 3).Draw(t, "item weight")}}}
	for i := range rapid.IntRange(1, 8).Draw(t, "members") {
		m := Member{ID: fmt.Sprintf("m%02d", i)}
		if weighted {
			m.Weight = rapid.SampledFrom([]int64{0, 50, 100, 200, 333}).Draw(t, "weight")
		}
		w.members = append(w.members, m)
	}
	for i := range rapid.IntRange(0, 40).Draw(t, "items") {
		owner := rapid.IntRange(-1, len(w.members)-1).Draw(t, "owner")
		w.items = append(w.items, Item{ID: fmt.Sprintf("i%03d", i), Owner: owner, Movable: true})
	}
	return w
}

// ruled draws a world with everything in it.
func ruled(t *rapid.T) *world {
	w := &world{}
	labels := []Label{{"gpu", "yes"}, {"zone", "a"}, {"zone", "b"}, {"zone", "c"}, {"host", "x"}, {"host", "y"}}
	for i := range rapid.IntRange(1, 7).Draw(t, "members") {
		m := Member{ID: fmt.Sprintf("m%02d", i), Weight: rapid.SampledFrom([]int64{0, 0, 50, 200}).Draw(t, "weight")}
		m.Capacity = rapid.SampledFrom([]int64{0, 0, 0, 2, 5, 9}).Draw(t, "capacity")
		kind := rapid.IntRange(0, 9).Draw(t, "draining or closed")
		m.Draining, m.Closed = kind < 2, kind == 2
		m.Labels = rapid.SliceOfNDistinct(rapid.SampledFrom(labels), 0, 3,
			func(l Label) string { return l.Key }).Draw(t, "labels")
		w.members = append(w.members, m)
	}
	weights := rapid.SampledFrom([][]int64{{1}, {1, 1, 2, 5}}).Draw(t, "weights")
	for i := range rapid.IntRange(1, 5).Draw(t, "classes") {
		c := Class{Key: fmt.Sprintf("c%d", i), Weight: rapid.SampledFrom(weights).Draw(t, "item weight")}
		c.Selector = rapid.SliceOfNDistinct(rapid.SampledFrom(labels[:4]), 0, 1,
			func(l Label) string { return l.Key }).Draw(t, "selector")
		switch rapid.IntRange(0, 5).Draw(t, "rule") {
		case 0:
			c.Pin = rapid.SampledFrom([]string{"m00", "m01", "m99"}).Draw(t, "pin")
		case 1, 2:
			c.SpreadOver = rapid.SampledFrom([]string{"zone", "host"}).Draw(t, "spread")
		}
		w.classes = append(w.classes, c)
	}
	for i := range rapid.IntRange(0, 40).Draw(t, "items") {
		w.items = append(w.items, Item{
			ID: fmt.Sprintf("i%03d", i), Class: rapid.IntRange(0, len(w.classes)-1).Draw(t, "class"),
			Owner:   rapid.IntRange(-1, len(w.members)-1).Draw(t, "owner"),
			Movable: rapid.IntRange(0, 5).Draw(t, "held") > 0,
		})
	}
	return w
}

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
				t.Fatalf("%s/%s has %d slots after the moves, its share is %d", w.jobs[j].ID, w.jobs[j].Tasks[k].Name,
					got, a.Shares[j].Tasks[k])
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
	slices.SortFunc(held, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), compareSlots(a.Slot, b.Slot))
	})
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
