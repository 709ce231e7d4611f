package cluster

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/schedule"
)

// Waiting is something that is wanted and does not run: a partition, a task of spread pool ("job/task"), a job, or
// slots ("slots").
type Waiting struct {
	Item   string
	Reason Reason
}

// Waiting lists everything that waits, with the reason, sorted by item. It costs as much as a plan.
func (v Value) Waiting() []Waiting {
	out := v.waitingPartitions()
	out = append(out, v.WaitingForSlots()...)
	slices.SortStableFunc(out, func(a, b Waiting) int { return strings.Compare(a.Item, b.Item) })
	return out
}

// Unplaced is how many partitions wait for an owner, and EachUnplaced yields them.
func (v Value) Unplaced() (n int) {
	ordered.Keys(&v.derived.unplaced, func(class string) bool {
		n += ordered.Count(&v.derived.unplaced, class)
		return true
	})
	return n
}

// EachUnplaced yields the partitions that wait for an owner.
func (v Value) EachUnplaced() iter.Seq[PartitionID] {
	return func(yield func(PartitionID) bool) {
		ordered.Pairs(&v.derived.unplaced, func(_ string, id PartitionID) bool { return yield(id) })
	}
}

func (v Value) waitingPartitions() (out []Waiting) {
	var views [kinds]*view
	for kind := range kinds {
		views[kind] = newView(&v, kind)
	}
	ordered.Each(&v.partitions, func(id PartitionID, p *partitionRecord) bool {
		if p.State == PartitionFinished {
			return true
		}
		view := views[kindTasks]
		if p.class != nil {
			view = views[kindOf(p.class)]
		}
		if r := v.why(p, view); r.Rule != "" {
			out = append(out, Waiting{string(id), r})
		}
		return true
	})
	return out
}

// WaitingForSlots lists the jobs and tasks of spread pool without a slot, and unused slots, with the reason. A job
// without slots is listed once, without its tasks.
func (v Value) WaitingForSlots() (out []Waiting) {
	if ordered.Len(&v.derived.pools) == 0 && ordered.Len(&v.derived.free) == 0 {
		return nil
	}
	p, _ := v.pool()
	a := schedule.Allocate(p)
	for j := range p.Jobs {
		if r := a.WhyJob(p, j); r.Rule != "" {
			out = append(out, Waiting{p.Jobs[j].ID, Reason(r)})
			continue
		}
		for t := range p.Jobs[j].Tasks {
			r := v.whyHeld(JobID(p.Jobs[j].ID), p.Jobs[j].Tasks[t].Name)
			if r.Rule == "" {
				r = Reason(a.WhyTask(p, schedule.Post{Job: j, Task: t}))
			}
			if r.Rule != "" {
				out = append(out, Waiting{string(NewPartitionID(JobID(p.Jobs[j].ID), p.Jobs[j].Tasks[t].Name, "")), r})
			}
		}
	}
	if r := a.WhyIdle(p); r.Rule != "" {
		out = append(out, Waiting{"slots", Reason(r)})
	}
	return out
}

// WhyTask explains why a task of spread pool has no slot; it returns the zero Reason if it has one, is finished, or is
// not of spread pool.
func (v Value) WhyTask(job JobID, task string) Reason {
	rec, ok := ordered.Get(&v.jobs, job)
	if !ok {
		return Reason{Rule: "unknown", Text: "no such job", Try: "rota task list"}
	}
	if rec.State != JobRunning || len(rec.pool) == 0 {
		return Reason{}
	}
	if rec.Paused() {
		return rec.whyPaused()
	}
	p, jobs := v.pool()
	j := slices.IndexFunc(jobs, func(r *jobRecord) bool { return r.ID == job })
	t := slices.IndexFunc(p.Jobs[j].Tasks, func(t schedule.Task) bool { return t.Name == task })
	if t < 0 {
		return Reason{}
	}
	if r := v.whyHeld(job, task); r.Rule != "" {
		return r
	}
	a := schedule.Allocate(p)
	return Reason(a.WhyTask(p, schedule.Post{Job: j, Task: t}))
}

// whyHeld explains why a task gets no slot, for reasons within the job.
func (v Value) whyHeld(job JobID, task string) Reason {
	j, _ := ordered.Get(&v.jobs, job)
	if !j.finished(task) && j.heldBack()[task] {
		var first []string
		for _, e := range j.Spec.Edges {
			if e.To == task && !j.finished(e.From) {
				first = append(first, e.From)
			}
		}
		return Reason{Rule: "after", Text: "it starts when what it comes after is finished: " +
			strings.Join(first, ", ")}
	}
	return v.whyParted(job, task)
}

// whyParted explains a task that is being repartitioned: all its former slots stop before any starts again.
func (v Value) whyParted(job JobID, task string) Reason {
	j, _ := ordered.Get(&v.jobs, job)
	t, _ := j.Task(task)
	if !t.Repartition {
		return Reason{}
	}
	d := draft{Value: v}
	held, _ := d.shares(&parting{job: job, task: task})
	var leaving []string
	for _, id := range d.partitionsOf(job, task) {
		_, _, key := id.Split()
		leaving = append(leaving, key)
	}
	if len(held) > 0 || len(leaving) == 0 {
		return Reason{}
	}
	return Reason{Rule: "repartition", Text: "its slots change, and it starts again when all have stopped: " +
		strings.Join(leaving, ", ")}
}

// TaskSlots is the slots of one task of spread pool.
type TaskSlots struct {
	Task     string
	Finished bool
	Slots    []schedule.Slot // its slots, oldest first
	Leaving  []schedule.Slot // slots in which it still has to stop
}

// JobSlots lists the tasks of spread pool of a job, in the topological order of its edges, with their slots; nil if it
// has none.
func (v Value) JobSlots(id JobID) []TaskSlots {
	rec, ok := ordered.Get(&v.jobs, id)
	if !ok || len(rec.pool) == 0 {
		return nil
	}
	out := make([]TaskSlots, len(rec.pool))
	for i, at := range rec.pool {
		name := rec.Spec.Tasks[at].Name
		out[i] = TaskSlots{Task: name, Finished: rec.finished(name)}
	}
	var held []heldSlot
	v.eachOf(id, func(p Partition) bool {
		if p.Slot != 0 {
			slot := schedule.Slot{Member: string(p.Owner), Number: p.Slot}
			held = append(held, heldSlot{slot: slot, id: p.ID, token: p.Token, leaving: p.State != PartitionGranted})
		}
		return true
	})
	slices.SortStableFunc(held, func(a, b heldSlot) int { return cmp.Compare(a.token, b.token) })
	for _, h := range held {
		_, task, _ := h.id.Split()
		i := slices.IndexFunc(out, func(t TaskSlots) bool { return t.Task == task })
		switch {
		case i < 0:
		case h.leaving:
			out[i].Leaving = append(out[i].Leaving, h.slot)
		default:
			out[i].Slots = append(out[i].Slots, h.slot)
		}
	}
	return out
}

// Reason is why a partition has no running owner: a rule, in words, and what to try.
type Reason struct {
	Rule string // "labels: gpu=yes"
	Text string // "5 members: 5 lack the label"
	Try  string
}

// Why explains why a partition has no running owner; it returns the zero Reason if it has one. For a task of spread
// pool it is [Value.WhyTask].
func (v Value) Why(id PartitionID) Reason {
	p, ok := ordered.Get(&v.partitions, id)
	if !ok {
		return v.whyNone(id)
	}
	return v.why(p, nil)
}

// whyNone explains what is not a partition: a task of spread pool has none while it has no slot.
func (v Value) whyNone(id PartitionID) Reason {
	job, task, key := id.Split()
	if j, ok := v.Job(job); ok && key == "" {
		if t, ok := j.Task(task); ok && t.Spread == SpreadPool {
			return v.WhyTask(job, task)
		}
	}
	return Reason{Rule: "unknown", Text: "no such partition", Try: "rota task list"}
}

// why explains a partition. The view of the value may be nil: then it is made if it is needed.
func (v Value) why(p *partitionRecord, w *view) Reason {
	id := p.ID
	if p.Offered && v.claimed() {
		return unclaimed(p.Owner, "alone")
	}
	if p.Offered {
		return Reason{Rule: "offer", Text: string(p.Owner) + " has yet to accept it",
			Try: "if it lasts, look whether " + string(p.Owner) + " is alive: rota member list"}
	}
	if j, ok := ordered.Get(&v.jobs, p.job()); ok && j.Paused() &&
		(p.State == PartitionWaiting || p.State == PartitionBlocked) {
		return j.whyPaused()
	}
	switch p.State {
	case PartitionWaiting:
		return v.whyWaiting(p, w)
	case PartitionParked:
		if p.Cause == poisoned {
			return Reason{Rule: "poison", Text: strconv.FormatInt(p.Deaths, 10) +
				" members died in a row while they ran it, last: " + string(p.From),
				Try: "find out what it does to them, then change its definition or rota task retry " +
					safetext.Word(string(id))}
		}
		return Reason{Rule: "parked", Text: "failed " + strconv.FormatInt(p.Attempts, 10) + " times, last: " +
			p.Message,
			Try: "mend what fails, then change its definition or rota task retry " + safetext.Word(string(id))}
	case PartitionBlocked:
		return Reason{Rule: "parents", Text: "waits until its parents are finished: " + strings.Join(p.Parents, ", ")}
	case PartitionHeld:
		return Reason{Rule: "hold", Text: string(p.Owner) + " announced a restart"}
	case PartitionReleasing:
		return Reason{Rule: "hand-over", Text: string(p.Owner) + " has yet to stop: " + p.Cause}
	case PartitionFinished:
		return Reason{Rule: "finished", Text: "it is done"}
	}
	return Reason{}
}

// whyPaused is the reason for all of a job that was paused.
func (j *Job) whyPaused() Reason {
	return Reason{Rule: "paused", Text: "paused by " + j.PausedBy, Try: "rota job resume " + string(j.ID)}
}

func (v Value) whyWaiting(p *partitionRecord, w *view) Reason {
	if p.class == nil {
		return Reason{}
	}
	if w == nil {
		w = newView(&v, kindOf(p.class))
	}
	if r := w.whyUnclaimed(p.ID); r.Rule != "" {
		return r
	}
	for i := range w.classes {
		if w.classes[i].Key == p.class.Key {
			return Reason(schedule.Explain(w, i))
		}
	}
	return Reason{}
}

// unclaimed says that nobody has claimed a partition.
func unclaimed(by MemberID, how string) Reason {
	return Reason{Rule: "claim", Text: "free: nobody has claimed it; " + string(by) + " may " + how,
		Try: "if it stays so: rota status"}
}

// whyUnclaimed explains a partition that a member has room for and nobody has claimed; the zero Reason where no member
// has room.
func (w *view) whyUnclaimed(id PartitionID) Reason {
	if !w.v.claimed() {
		return Reason{}
	}
	if w.first == nil {
		w.first = make(map[PartitionID]MemberID)
		for _, mv := range schedule.Place(w, 0).Moves {
			if mv.From < 0 {
				w.first[PartitionID(mv.Item)] = MemberID(w.members[mv.To].ID)
			}
		}
	}
	if m, ok := w.first[id]; ok {
		return unclaimed(m, "first")
	}
	return Reason{}
}
