package cluster

import (
	"strconv"
	"strings"

	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/internal/schedule"
)

// Reason is why a partition has no running owner: a rule, in words, and what to try.
type Reason struct {
	Rule string // "labels: gpu=yes"
	Text string // "5 members: 5 lack the label"
	Try  string
}

// Why explains why a partition has no running owner; it returns the zero Reason if it has one. For a task of spread pool it is [Value.WhyTask].
func (v Value) Why(id PartitionID) Reason {
	p, ok := v.partitions.Get(id)
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
		return Reason{Rule: "offer", Text: string(p.Owner) + " has yet to accept it", Try: "if it lasts, look whether " + string(p.Owner) + " is alive: rota member list"}
	}
	if j, ok := v.jobs.Get(p.job()); ok && j.Paused() && (p.State == PartitionWaiting || p.State == PartitionBlocked) {
		return j.whyPaused()
	}
	switch p.State {
	case PartitionWaiting:
		return v.whyWaiting(p, w)
	case PartitionParked:
		if p.Cause == poisoned {
			return Reason{Rule: "poison", Text: strconv.FormatInt(p.Deaths, 10) + " members died in a row while they ran it, last: " + string(p.From),
				Try: "find out what it does to them, then change its definition or rota task retry " + plain.Word(string(id))}
		}
		return Reason{Rule: "parked", Text: "failed " + strconv.FormatInt(p.Attempts, 10) + " times, last: " + p.Message,
			Try: "mend what fails, then change its definition or rota task retry " + plain.Word(string(id))}
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
	return Reason{Rule: "claim", Text: "free: nobody has claimed it; " + string(by) + " may " + how, Try: "if it stays so: rota status"}
}

// whyUnclaimed explains a partition that a member has room for and nobody has claimed; the zero Reason where no member has room.
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
