package cluster

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// Pending is the work recorded in documents that is not done yet.
type Pending struct {
	// Said are accepted splits and advances of windows, each in the document of its partition, in their order.
	Said []Command
	// Stale are partitions that have not seen the present spec of their job.
	Stale []PartitionID
	// Partial are jobs of which partitions may be missing: they are not completed.
	Partial []JobID
	// Free is the previous result: if the plan leaves a choice, the same members stay first.
	Free []Free
}

// Free is a partition that may be claimed, and the member that may claim it first; "" if no member has room.
type Free struct {
	Partition PartitionID
	First     MemberID
}

// Settle derives the consequences of the records of a value in which members claim: which partitions exist, which must
// be given up for even shares, which jobs are complete. Each changed record follows from others that do not change
// back, so the changes may be written one by one, and by several members that settle at once. Settling again changes
// nothing. The second result is what may be claimed, sorted.
func (v Value) Settle(at Index, atMS int64, todo Pending) (Value, []Free) {
	d := &draft{Value: v, at: at, atMS: atMS, unlogged: true, partial: todo.Partial}
	for _, c := range todo.Said {
		d.carryOut(c)
	}
	for _, id := range v.jobIDs() {
		d.settleJob(id)
	}
	for _, id := range todo.Stale {
		d.refresh(id)
	}
	for _, id := range v.jobIDs() {
		d.completeRest(id)
	}
	d.forgetJobs()
	d.placeEvery()
	d.allocate, d.used = true, make(map[string]bool, ordered.Len(&v.derived.held))
	ordered.Each(&v.derived.held, func(key string, _ heldSlot) bool { d.used[key] = true; return true })
	if draining, doubled := d.vacateDraining(), d.vacateDoubled(); !draining && !doubled { // what was offered may be claimed before its end is written: the next plan begins when documents show that it is gone
		d.planSlots()
	}
	free := d.frees(todo.Free)
	return d.value(), free
}

// vacateDraining takes the slots of the members that are draining, and reports whether one of them had any left.
func (d *draft) vacateDraining() (had bool) {
	ordered.Each(&d.Value.members, func(id MemberID, m memberRecord) bool {
		if m.Draining {
			had = d.vacateAll(id) || had
		}
		return true
	})
	return had
}

// vacateDoubled takes slots back that two partitions have, and reports whether there was one: a leader that knew an old
// document of the one made the other. The member that has claimed it keeps it, for no member claims a slot twice.
func (d *draft) vacateDoubled() bool {
	if ordered.Len(&d.derived.pools) == 0 {
		return false
	}
	holder := make(map[string]*partitionRecord)
	var doubled []PartitionID
	ordered.Each(&d.partitions, func(_ PartitionID, p *partitionRecord) bool {
		if p.Slot == 0 || p.Owner == "" || p.Dropped {
			return true
		}
		key := slotKey(p.Owner, p.Slot)
		switch other, taken := holder[key]; {
		case !taken:
			holder[key] = p
		case other.Offered && !p.Offered:
			doubled, holder[key] = append(doubled, other.ID), p
		default:
			doubled = append(doubled, p.ID)
		}
		return true
	})
	for _, id := range doubled {
		d.vacate(id, "its slot is taken by another task")
	}
	return len(doubled) > 0
}

func (v Value) jobIDs() (ids []JobID) {
	ordered.Each(&v.jobs, func(id JobID, _ *jobRecord) bool { ids = append(ids, id); return true })
	return ids
}

// carryOut does the part of a command that is not in the document of its partition. Done once, it does nothing more.
func (d *draft) carryOut(c Command) {
	switch c := c.(type) {
	case SplitPartition:
		job, task, _ := c.Partition.Split()
		if j, ok := ordered.Get(&d.jobs, job); ok && j.State == JobRunning {
			for _, ch := range c.Children {
				d.addChild(j, task, ch)
			}
		}
	case AdvanceWindow:
		job, task, key := c.Partition.Split()
		if j, ok := ordered.Get(&d.jobs, job); ok && j.State == JobRunning {
			d.fillWindow(j, task, key, &c)
		}
	}
}

func (d *draft) settleJob(id JobID) {
	j, ok := ordered.Get(&d.jobs, id)
	if !ok {
		return
	}
	if j.State != JobRunning {
		if j.State != JobCompleted {
			d.dropAll(id)
		}
		return
	}
	for _, p := range d.allOf(id) {
		d.settlePartition(p)
	}
	for i := range j.Spec.Tasks {
		d.settleTask(id, &j.Spec.Tasks[i])
	}
}

// settleTask adds the partitions that the spec names.
func (d *draft) settleTask(job JobID, t *TaskSpec) {
	j, ok := ordered.Get(&d.jobs, job)
	if !ok || j.State != JobRunning {
		return
	}
	keys := t.Partitions
	if t.Spread == SpreadSingle {
		keys = []string{""}
	} else if t.Spread != SpreadPartitioned {
		return
	}
	for _, key := range keys {
		if !d.has(NewPartitionID(job, t.Name, key)) {
			d.addPartition(j, t.Name, key, nil)
		}
	}
}

// settlePartition draws the consequences of what its owner has said, and drops what the spec does not name any more.
func (d *draft) settlePartition(id PartitionID) {
	p, ok := d.edit(id)
	if !ok || p.Dropped {
		return
	}
	job, task, key := id.Split()
	j, ok := ordered.Get(&d.jobs, job)
	if !ok || j.State != JobRunning {
		return
	}
	t, ok := j.Task(task)
	switch {
	case !ok || !t.names(key, &p.Partition):
		d.drop(id)
	case p.Slot != 0 && p.State == PartitionFinished:
		d.finishTask(p)
	case p.Slot != 0 && p.State == PartitionParked:
		d.failJob(p)
	case j.Paused():
		d.haltOne(p)
	case p.State == PartitionBlocked && d.startable(p):
		d.free(p, "nothing holds it back any more")
	}
}

// names reports whether a partition belongs to the task as it is now.
func (t *TaskSpec) names(key string, p *Partition) bool {
	switch t.Spread {
	case SpreadSingle:
		return key == ""
	case SpreadPool:
		return p.Slot != 0
	case SpreadPartitioned:
		return key != "" && (len(p.Parents) > 0 || p.ListedBy != "" || slices.Contains(t.Partitions, key))
	}
	return key != "" && p.Slot == 0
}

// refresh forgives a partition its failures when the spec of its job has changed.
func (d *draft) refresh(id PartitionID) {
	p, ok := d.edit(id)
	job, _, _ := id.Split()
	j, has := ordered.Get(&d.jobs, job)
	if ok && has && j.State == JobRunning && !p.Dropped && p.Slot == 0 &&
		(p.Attempts > 0 || p.State == PartitionParked) {
		d.updatePartition(j, p)
	}
}

// frees plans: it tells owners of too much to stop, and lists what is free, with the member that the plan would give it
// to.
func (d *draft) frees(before []Free) []Free {
	first := make(map[PartitionID]MemberID)
	left := 0
	for kind := range kinds {
		view := newView(&d.Value, kind)
		plan := schedule.Place(view, max(0, d.Settings().MoveBudget-d.derived.moving))
		left += plan.Deferred
		for _, mv := range plan.Moves {
			if mv.From >= 0 {
				d.move(view, mv)
			} else {
				first[PartitionID(mv.Item)] = MemberID(view.members[mv.To].ID)
			}
		}
	}
	if left == 0 && d.settings.Rebalancing {
		d.rebalance(false)
	}
	d.keepFirst(first, before)
	var out []Free
	ordered.Each(&d.partitions, func(id PartitionID, p *partitionRecord) bool {
		if p.Offered {
			out = append(out, Free{id, p.Owner})
		} else if p.State == PartitionWaiting {
			out = append(out, Free{id, first[id]})
		}
		return true
	})
	return out
}

// keepFirst keeps the first claimant of each partition where the plan allows it: a member that has read the former list
// still claims by it.
func (d *draft) keepFirst(first map[PartitionID]MemberID, before []Free) {
	type room struct {
		class  string
		member MemberID
	}
	left := make(map[room]int)
	place := func(id PartitionID, m MemberID) room {
		p, ok := ordered.Get(&d.partitions, id)
		if !ok || p.class == nil {
			return room{}
		}
		return room{p.class.Key, m}
	}
	for id, m := range first { // order-free: it counts
		left[place(id, m)]++
	}
	kept := make(map[PartitionID]bool)
	for _, f := range before {
		if at := place(f.Partition, f.First); first[f.Partition] != "" && left[at] > 0 {
			left[at]--
			first[f.Partition], kept[f.Partition] = f.First, true
		}
	}
	var rest []room           // the members with room left, sorted
	for at, n := range left { // order-free: sorted below
		for range n {
			rest = append(rest, at)
		}
	}
	slices.SortFunc(rest, func(a, b room) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.member, b.member))
	})
	for _, id := range slices.Sorted(maps.Keys(first)) {
		if kept[id] {
			continue
		}
		class := place(id, "").class
		i := slices.IndexFunc(rest, func(r room) bool { return r.class == class })
		first[id] = rest[i].member
		rest = slices.Delete(rest, i, i+1)
	}
}
