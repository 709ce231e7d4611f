package cluster

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// plan gives partitions to members, once per entry and after all its commands: that is how a burst stays cheap.
func (d *draft) plan() {
	if d.members {
		d.placeEvery()
	}
	d.planSlots()
	if !d.replan && !d.settings.Rebalancing {
		return
	}
	for d.planMoves() {
	}
}

// planMoves does one plan within the budget. It reports whether there is more to do at once: moves of fast hand-overs
// are over when they are made, and leave room for those that the budget held back.
func (d *draft) planMoves() bool {
	again, left := false, 0
	for kind := range kinds {
		if kind == kindTasks || d.present(kind) {
			more, deferred := d.planView(newView(&d.Value, kind))
			again, left = more || again, left+deferred
		}
	}
	if left == 0 && d.settings.Rebalancing {
		d.rebalance(false)
	}
	return again
}

func (d *draft) planView(view *view) (again bool, deferred int) {
	budget := max(0, d.Settings().MoveBudget-d.derived.moving)
	if d.shared() { // what has an owner is moved by its owner: see Shares
		budget = 0
	}
	plan, opened := schedule.Place(view, budget), d.derived.moving
	moved := int64(0)
	d.derived.forgetPlaced(view.classes, plan.Moves)
	for _, mv := range plan.Moves {
		if mv.From >= 0 && d.shared() {
			continue
		}
		if d.move(view, mv) && mv.From >= 0 {
			moved++
		}
	}
	opened = d.derived.moving - opened
	return plan.Deferred > 0 && moved > opened, plan.Deferred
}

// move does one move, if its partition is there.
func (d *draft) move(view *view, mv schedule.Move) bool {
	id := PartitionID(mv.Item)
	if mv.From < 0 {
		return d.grantFree(id, MemberID(view.members[mv.To].ID))
	}
	p, ok := d.edit(id)
	if !ok {
		return false
	}
	to, cause := MemberID(""), "its owner may not run it"
	if mv.To >= 0 {
		to, cause = MemberID(view.members[mv.To].ID), "evens the load"
		if view.members[mv.From].Draining {
			cause = view.members[mv.From].ID + " is draining"
		}
	}
	d.handOver(p, to, cause)
	return true
}

var _ schedule.Sparse = (*view)(nil)

// view shows one kind of classes of a value to placement.
type view struct {
	v       *Value
	kind    classKind
	members []schedule.Member
	classes []schedule.Class
	first   map[PartitionID]MemberID // the members that may claim free partitions first; made on demand
}

func newView(v *Value, g classKind) *view {
	w := &view{v: v, kind: g}
	ordered.Each(&v.members, func(id MemberID, m memberRecord) bool {
		if m.State == MemberJoined {
			w.members = append(w.members, w.scheduleMember(&m.Member))
		}
		return true
	})
	ordered.Each(&v.derived.classes, func(_ string, c classRecord) bool {
		if kindOf(c.class) == g {
			w.classes = append(w.classes, *c.class)
		}
		return true
	})
	return w
}

func (w *view) scheduleMember(m *Member) schedule.Member {
	l, _ := ordered.Get(&w.v.derived.loads, m.ID)
	s := schedule.Member{
		ID: string(m.ID), Weight: weightOr(m.Weight), Capacity: m.Capacity, Draining: m.Draining, Closed: m.Revoked,
		Load: l.weight, Count: l.count,
	}
	switch w.kind {
	case kindWindows:
		s.Load = l.window
	case kindOwn:
		s.Load, s.Count, s.Capacity = l.own, l.own, 0
	}
	for _, lb := range m.Labels {
		s.Labels = append(s.Labels, schedule.Label(lb))
	}
	return s
}

// Members implements schedule.View.
func (w *view) Members() []schedule.Member { return w.members }

// Classes implements schedule.View.
func (w *view) Classes() []schedule.Class { return w.classes }

// Unplaced implements schedule.View.
func (w *view) Unplaced(c int, yield func(string) bool) {
	ordered.EachOf(&w.v.derived.unplaced, w.classes[c].Key, func(id PartitionID) bool { return yield(string(id)) })
}

// Owned implements schedule.View.
func (w *view) Owned(m, c int, yield func(string) bool) {
	if w.v.fixed(&w.classes[c], &w.members[m]) {
		return
	}
	key := movableKey(MemberID(w.members[m].ID), w.classes[c].Key)
	ordered.EachOf(&w.v.derived.movable, key, func(id PartitionID) bool { return yield(string(id)) })
}

// Count implements schedule.View.
func (w *view) Count(m, c int) int {
	n, _ := ordered.Get(&w.v.derived.counts, w.members[m].ID+"\x00"+w.classes[c].Key)
	return int(n)
}

// Present implements schedule.Sparse: most members have partitions of few classes.
func (w *view) Present(m int, yield func(c, count int) bool) {
	prefix := w.members[m].ID + "\x00"
	ordered.Below(&w.v.derived.counts, prefix, func(key string, n int64) bool {
		c, ok := slices.BinarySearchFunc(w.classes, key[len(prefix):],
			func(c schedule.Class, k string) int { return strings.Compare(c.Key, k) })
		return !ok || yield(c, int(n))
	})
}

// placeEvery gives each task of spread every one partition on each member that may run it, and takes the others away.
func (d *draft) placeEvery() {
	var tasks []PartitionID
	ordered.Each(&d.derived.everies, func(_ string, id PartitionID) bool {
		tasks = append(tasks, id)
		return true
	})
	for _, id := range tasks {
		job, name, _ := id.Split()
		j, _ := ordered.Get(&d.jobs, job)
		t, _ := j.Task(name)
		wanted := d.membersFor(t)
		for _, p := range d.partitionsOf(job, name) {
			if _, _, key := p.Split(); !found(wanted, MemberID(key)) {
				d.unplace(p)
			}
		}
		for _, m := range wanted {
			if pid := NewPartitionID(job, name, string(m)); !d.has(pid) && !d.revoked(m) {
				d.grant(&partitionRecord{Partition: Partition{ID: pid}}, m, "")
			}
		}
	}
}

// unplace takes a partition of spread every away from its member.
func (d *draft) unplace(id PartitionID) {
	if p, ok := d.edit(id); ok && d.claimed() {
		d.dismiss(p, "its member may not run it")
		return
	}
	d.removePartition(id)
}

func (d *draft) revoked(id MemberID) bool {
	m, _ := ordered.Get(&d.Value.members, id)
	return m.Revoked
}

func (d *draft) has(id PartitionID) bool {
	_, ok := ordered.Get(&d.partitions, id)
	return ok
}

// membersFor lists the members that run a task of spread every, in order.
func (d *draft) membersFor(t *TaskSpec) []MemberID {
	var ids []MemberID
	ordered.Each(&d.Value.members, func(id MemberID, m memberRecord) bool {
		if m.State == MemberJoined && !m.Draining && t.allowed(&m.Member) {
			ids = append(ids, id)
		}
		return true
	})
	return ids
}

func found(sorted []MemberID, m MemberID) bool {
	_, ok := slices.BinarySearch(sorted, m)
	return ok
}
