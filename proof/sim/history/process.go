package history

import (
	"cmp"
	"math"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// never is an instant that does not come.
const never = math.MaxInt64

// process is one start of a member.
type process struct {
	member      cluster.MemberID
	incarnation uint64
	began       int64
	ended       int64 // never while it runs
	end         Record
	asleep      []sleep // by time
	joined      []span  // in which it was a member, by time
}

// sleep is a time in which a process was suspended.
type sleep struct {
	from, to int64
	record   Record
	machine  bool // all of the machine stood still
}

func compareProcess(p process, r Record) int {
	return cmp.Or(cmp.Compare(p.member, r.Member), cmp.Compare(p.incarnation, r.Incarnation))
}

// processesOf collects what happened to processes.
func processesOf(h History) []process {
	records := slices.Clone(h.Records)
	byTime(records)
	var out []process
	for _, r := range records {
		if r.Kind < Began || r.Kind > Left {
			continue
		}
		i, ok := slices.BinarySearchFunc(out, r, compareProcess)
		if !ok {
			out = slices.Insert(out, i, process{member: r.Member, incarnation: r.Incarnation, ended: never})
		}
		out[i].note(r)
	}
	for i := range out {
		out[i].stall(h.Stalls)
	}
	return out
}

// stall adds the sleeps of a machine that stood still. They may lie inside others.
func (p *process) stall(stalls []Span) {
	for _, s := range stalls {
		if s.To <= p.began || s.From >= p.ended {
			continue
		}
		record := Record{At: s.From, Kind: Suspended, Member: p.member, Incarnation: p.incarnation}
		p.asleep = append(p.asleep, sleep{from: max(s.From, p.began), to: min(s.To, p.ended), record: record,
			machine: true})
	}
	slices.SortStableFunc(p.asleep, func(a, b sleep) int { return cmp.Compare(a.from, b.from) })
}

func (p *process) note(r Record) {
	last := len(p.asleep) - 1
	switch r.Kind {
	case Began:
		p.began = r.At
	case Killed, Exited:
		p.ended, p.end = min(p.ended, r.At), r
	case Suspended:
		if last < 0 || p.asleep[last].to != never {
			p.asleep = append(p.asleep, sleep{from: r.At, to: never, record: r})
		}
	case Resumed:
		if last >= 0 && p.asleep[last].to == never {
			p.asleep[last].to = r.At
		}
	case Joined, Left:
		p.membership(r)
	}
}

func (p *process) membership(r Record) {
	last := len(p.joined) - 1
	open := last >= 0 && p.joined[last].to == never
	switch {
	case r.Kind == Joined && !open:
		p.joined = append(p.joined, span{r.At, never})
	case r.Kind == Left && open:
		p.joined[last].to = r.At
	}
}

// process finds the start of a member that a record is about; a zero one that lives for ever if nothing happened to it.
func (j *judge) process(r Record) process {
	i, ok := slices.BinarySearchFunc(j.processes, r, compareProcess)
	if !ok {
		return process{member: r.Member, incarnation: r.Incarnation, ended: never}
	}
	return j.processes[i]
}

// down tells whether no process of a member is awake at an instant, as far as something is known of it.
func (j *judge) down(m cluster.MemberID, at int64) bool {
	known := false
	for _, p := range j.processes {
		if p.member != m || p.began > at {
			continue
		}
		known = true
		if at < p.ended && !p.sleeps(at) {
			return false
		}
	}
	return known
}

// sleeps tells whether the process is suspended at an instant.
func (p process) sleeps(at int64) bool {
	return slices.ContainsFunc(p.asleep, func(s sleep) bool { return s.from <= at && at < s.to })
}

// failures are the instants in [from, to) at which a process of the member was killed, ended or was suspended.
func (j *judge) failures(m cluster.MemberID, from, to int64) []int64 {
	var out []int64
	for _, p := range j.processes {
		if p.member != m {
			continue
		}
		if from <= p.ended && p.ended < to {
			out = append(out, p.ended)
		}
		for _, s := range p.asleep {
			if from <= s.from && s.from < to {
				out = append(out, s.from)
			}
		}
	}
	return out
}
