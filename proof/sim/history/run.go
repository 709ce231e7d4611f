package history

import (
	"cmp"
	"slices"
)

// run is one run of a partition in one process.
type run struct {
	began   Record
	stopped Record // zero if nobody wrote it down
	to      int64  // never while it goes on; the end of its process where that came first
	asleep  []sleep
}

// runsOf makes runs of the started and stopped records of a partition, sorted by begin.
func (j *judge) runsOf(marks []run) []run {
	slices.SortStableFunc(marks, func(a, b run) int { return cmp.Compare(a.began.At, b.began.At) })
	var out []run
	for _, m := range marks {
		if m.began.Kind == Started {
			p := j.process(m.began)
			out = append(out, run{began: m.began, to: max(p.ended, m.began.At), asleep: p.asleep})
			continue
		}
		for i := len(out) - 1; i >= 0; i-- {
			if r := &out[i]; sameRun(r.began, m.began) && r.stopped.Kind == 0 {
				r.stopped, r.to = m.began, min(r.to, m.began.At)
				break
			}
		}
	}
	return out
}

func sameRun(a, b Record) bool {
	return a.Member == b.Member && a.Incarnation == b.Incarnation && a.Token == b.Token
}

// excused tells whether the process was suspended, so that it could not know at an instant that its run was over, nor before to. One that is
// suspended again before it had the time to see anything has slept all along.
func (r run) excused(at, to, wake int64) bool {
	from, awake := int64(0), int64(-1)
	for _, s := range r.asleep { // by time
		if s.from > awake {
			from, awake = s.from, s.to
		}
		if s.to == never {
			awake = never
		} else {
			awake = max(awake, s.to+wake)
		}
		if from <= at && at <= awake && to <= awake {
			return true
		}
	}
	return false
}

// proof are the records of a run.
func (r run) proof(j *judge) []Record {
	out := []Record{r.began}
	for _, s := range r.asleep {
		if s.from < r.to && s.to > r.began.At {
			out = append(out, s.record)
		}
	}
	if r.stopped.Kind != 0 {
		return append(out, r.stopped)
	}
	if p := j.process(r.began); p.ended != never {
		out = append(out, p.end)
	}
	return out
}
