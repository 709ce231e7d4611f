package cluster

import (
	"cmp"
	"iter"
	"slices"

	"github.com/rota-run/rota/internal/schedule"
)

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

// repartition brings the slots of a task in line with what the allocation wants. They all come by one entry, and all go when one of them comes or
// goes: so there is never one that runs beside another with another count. It reports whether slots were freed that others may have at once.
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
		p, _ := d.partitions.Get(id)
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
	return !slices.ContainsFunc(held, func(p *partitionRecord) bool { return p.Token != first.Token || p.Count != int64(len(held)) })
}
