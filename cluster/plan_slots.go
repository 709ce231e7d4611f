package cluster

import (
	"cmp"
	"iter"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// pool shows the value to the allocation of slots. jobs are the jobs of the pool, in its order.
func (v *Value) pool() (p *schedule.Pool, jobs []*jobRecord) {
	ordered.Each(&v.derived.pools, func(_ string, id JobID) bool {
		j, _ := ordered.Get(&v.jobs, id)
		jobs = append(jobs, j)
		return true
	})
	slices.SortFunc(jobs, compareSubmitted)
	p = &schedule.Pool{Scheduler: v.settings.JobScheduler, Jobs: make([]schedule.Job, len(jobs))}
	index := make(map[JobID]int, len(jobs))
	for i, j := range jobs {
		index[j.ID] = i
		p.Jobs[i] = j.scheduleJob(uint64(i))
	}
	ordered.Each(&v.derived.free, func(_ string, s schedule.Slot) bool {
		p.Free = append(p.Free, s)
		return true
	})
	ordered.Each(&v.derived.held, func(_ string, h heldSlot) bool {
		if h.leaving || !addHeld(p, index, h) {
			p.Busy += v.usable(h.slot)
		}
		return true
	})
	return p, jobs
}

// compareSubmitted is the order of submission.
func compareSubmitted(a, b *jobRecord) int {
	return cmp.Or(cmp.Compare(a.Turn.Submitted, b.Turn.Submitted), cmp.Compare(a.Turn.Ordinal, b.Turn.Ordinal),
		cmp.Compare(a.ID, b.ID))
}

// usable is 1 for a slot that its member can still give, else 0.
func (v *Value) usable(s schedule.Slot) int64 {
	if m, ok := ordered.Get(&v.members, MemberID(s.Member)); ok && s.Number <= m.slots() {
		return 1
	}
	return 0
}

func addHeld(p *schedule.Pool, index map[JobID]int, h heldSlot) bool {
	job, task, _ := h.id.Split()
	i, ok := index[job]
	if !ok {
		return false
	}
	tasks := p.Jobs[i].Tasks
	t := slices.IndexFunc(tasks, func(t schedule.Task) bool { return t.Name == task })
	if t < 0 {
		return false
	}
	tasks[t].Held = append(tasks[t].Held, schedule.Held{Slot: h.slot, Since: uint64(h.token)})
	return true
}

func (j *jobRecord) scheduleJob(submitted uint64) schedule.Job {
	out := schedule.Job{
		ID: string(j.ID), Submitted: submitted, Since: uint64(j.Turn.Since), Passed: j.Turn.Passed,
		Protected: j.Spec.Coverage,
		Percent:   j.Spec.Percent, Scheduler: j.Spec.Scheduler, Tasks: make([]schedule.Task, len(j.pool)),
	}
	back := j.heldBack()
	for i, at := range j.pool {
		t := &j.Spec.Tasks[at]
		// A task that is held back needs no slot, as one that is finished.
		out.Tasks[i] = schedule.Task{Name: t.Name, Min: t.Min, Max: t.Max, Percent: t.Percent,
			Finished: j.finished(t.Name) || back[t.Name]}
	}
	return out
}

// heldBack are the tasks of a batch that come after an unfinished one; nil if there is none.
func (j *jobRecord) heldBack() map[string]bool {
	if !j.Spec.Batch {
		return nil
	}
	back := make(map[string]bool)
	for _, e := range j.Spec.Edges {
		if !j.finished(e.From) {
			back[e.To] = true
		}
	}
	return back
}

// planSlots gives slots to the tasks of spread pool and takes them away.
func (d *draft) planSlots() {
	if !d.allocate || ordered.Len(&d.derived.pools) == 0 {
		return
	}
	p, jobs := d.Value.pool()
	a := schedule.Allocate(p)
	for i, j := range jobs {
		d.takeTurn(j, a.Shares[i].Passed)
	}
	parted := d.parted(p, jobs)
	for _, m := range a.Moves {
		if m.From != schedule.NoPost && m.To != schedule.NoPost && d.Value.usable(m.Slot) == 0 {
			continue // its member takes nothing new, and keeps what it has
		}
		if r, ok := parted[m.From]; ok {
			r.taken = append(r.taken, m.Slot)
		} else if m.From != schedule.NoPost {
			d.vacate(postID(p, m.From, m.Slot), "its slot goes to another task")
		}
		if key := slotKey(MemberID(m.Slot.Member), m.Slot.Number); d.derived.occupied(key) || d.used[key] {
			continue
		}
		if r, ok := parted[m.To]; ok {
			r.given = append(r.given, m.Slot)
		} else if m.To != schedule.NoPost {
			d.giveSlot(postID(p, m.To, m.Slot), m.Slot)
		}
	}
	again := false
	for post := range eachPost(p) {
		if r, ok := parted[post]; ok {
			again = d.repartition(r) || again
		}
	}
	if again {
		d.planSlots()
	}
}

// giveSlot grants a slot. Where a partition of this name, of a former spec of the task, has yet to stop, the slot waits
// for that.
func (d *draft) giveSlot(id PartitionID, s schedule.Slot) {
	if !d.has(id) {
		d.grant(&partitionRecord{Partition: Partition{ID: id, Slot: s.Number}}, MemberID(s.Member), "")
	}
}

func postID(p *schedule.Pool, at schedule.Post, s schedule.Slot) PartitionID {
	return slotID(JobID(p.Jobs[at.Job].ID), p.Jobs[at.Job].Tasks[at.Task].Name, s)
}

// takeTurn notes that a job was passed over, or that it has a place again.
func (d *draft) takeTurn(j *jobRecord, passed bool) {
	if j.Turn.Passed == passed {
		return
	}
	rec := *j
	rec.Turn.Passed = passed
	if !passed {
		rec.Turn.Since = d.at
	}
	d.setJob(&rec)
}

// parting is what the allocation wants of a task that is repartitioned when its slots change.
type parting struct {
	job          JobID
	task         string
	given, taken []schedule.Slot
}

// parted makes an empty parting for each task with Repartition; nil if there is none.
func (d *draft) parted(p *schedule.Pool, jobs []*jobRecord) map[schedule.Post]*parting {
	var out map[schedule.Post]*parting
	for i, j := range jobs {
		for t, at := range j.pool {
			if !j.Spec.Tasks[at].Repartition {
				continue
			}
			if out == nil {
				out = make(map[schedule.Post]*parting)
			}
			out[schedule.Post{Job: i, Task: t}] = &parting{job: j.ID, task: p.Jobs[i].Tasks[t].Name}
		}
	}
	return out
}

// eachPost yields the tasks of a pool in order.
func eachPost(p *schedule.Pool) iter.Seq[schedule.Post] {
	return func(yield func(schedule.Post) bool) {
		for j := range p.Jobs {
			for t := range p.Jobs[j].Tasks {
				if !yield(schedule.Post{Job: j, Task: t}) {
					return
				}
			}
		}
	}
}

// repartition brings the slots of a task in line with what the allocation wants. They all come by one entry, and all go
// when one of them comes or goes: so there is never one that runs beside another with another count. It reports whether
// slots were freed that others may have at once.
func (d *draft) repartition(r *parting) (freed bool) {
	held, leaving := d.shares(r)
	if len(held) > 0 {
		if len(r.given)+len(r.taken) == 0 && d.whole(held) && !leaving { // what leaves may be of a time when the task was not repartitioned
			return false
		}
		for _, p := range held {
			d.vacate(p.ID, "the slots of its task change")
			r.given = append(r.given, schedule.Slot{Member: string(p.Owner), Number: p.Slot})
		}
		if d.claimed() { // what was offered may be claimed before its end is written: the documents must show that all are gone
			return false
		}
		_, leaving = d.shares(r) // none, where the hand-over waits for nobody
	}
	if leaving {
		return false // they come back when all of them have stopped
	}
	r.given = slices.DeleteFunc(r.given, func(s schedule.Slot) bool { return slices.Contains(r.taken, s) })
	slices.SortFunc(r.given, func(a, b schedule.Slot) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Number, b.Number))
	})
	for i, s := range r.given {
		p := Partition{ID: slotID(r.job, r.task, s), Slot: s.Number, Index: int64(i), Count: int64(len(r.given))}
		d.grant(&partitionRecord{Partition: p}, MemberID(s.Member), "")
	}
	return len(r.taken) > 0
}

// shares are the slots on which the task runs, and whether former ones have yet to stop.
func (d *draft) shares(r *parting) (held []*partitionRecord, leaving bool) {
	for _, id := range d.partitionsOf(r.job, r.task) {
		p, _ := ordered.Get(&d.partitions, id)
		if p.State == PartitionGranted && !p.Dropped {
			held = append(held, p)
		} else {
			leaving = true
		}
	}
	return held, leaving
}

// whole reports whether the slots are all those that were given out together.
func (d *draft) whole(held []*partitionRecord) bool {
	if d.claimed() {
		return sameShares(held)
	}
	first := held[0]
	return !slices.ContainsFunc(held,
		func(p *partitionRecord) bool { return p.Token != first.Token || p.Count != int64(len(held)) })
}
