package history

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Decide judges a history. The same records, in whatever order but that of the resource and of the log, lead to the
// same report.
func Decide(h History) Report {
	j := &judge{h: h, processes: processesOf(h)}
	for _, p := range partitionsOf(h) {
		j.partition(p)
	}
	slices.SortStableFunc(j.report.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Promise, b.Promise), cmp.Compare(a.Partition, b.Partition))
	})
	return j.report
}

type judge struct {
	h         History
	processes []process // sorted by member and incarnation
	report    Report
}

// part is the records of one partition.
type part struct {
	id      cluster.PartitionID
	promise Promise
	grants  []Record // in the order of the log
	acts    []Record // acted and refused, in the order of the resource
	life    []Record // accepted, removed, finished, parked; by time
	runs    []run    // by begin
}

func partitionsOf(h History) []*part {
	var out []*part
	find := func(id cluster.PartitionID) *part {
		i, ok := slices.BinarySearchFunc(out, id,
			func(p *part, id cluster.PartitionID) int { return cmp.Compare(p.id, id) })
		if !ok {
			out = slices.Insert(out, i, &part{id: id, promise: Promise{Partition: id}})
		}
		return out[i]
	}
	for _, r := range h.Records {
		if r.Partition != "" {
			find(r.Partition).add(r)
		}
	}
	for _, p := range h.Promises {
		find(p.Partition).promise = p
	}
	for _, p := range out {
		byTime(p.life)
	}
	return out
}

func (p *part) add(r Record) {
	switch r.Kind {
	case Granted:
		p.grants = append(p.grants, r)
	case Acted, Refused:
		p.acts = append(p.acts, r)
	case Accepted, Removed, Finished, Parked:
		p.life = append(p.life, r)
	case Started, Stopped:
		p.runs = append(p.runs, run{began: r})
	}
}

func byTime(records []Record) {
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(a.At, b.At) })
}

func (j *judge) partition(p *part) {
	p.runs = j.runsOf(p.runs)
	j.report.Runs += len(p.runs)
	for i := 1; i < len(p.runs); i++ {
		if p.runs[i].began.Member != p.runs[i-1].began.Member {
			j.report.Moves++
		}
	}
	j.grants(p)
	j.overlaps(p)
	j.acts(p)
	j.fence(p)
	j.gaps(p)
	j.lost(p)
	j.items(p)
}

func (j *judge) violated(promise string, p *part, text string, records ...Record) {
	j.report.Violations = append(j.report.Violations,
		Violation{Promise: promise, Partition: p.id, Text: text, Records: records})
}

func duration(ns int64) time.Duration { return time.Duration(ns) }

// Deserted are the spans up to end in which no process was a member and awake: nobody could run anything.
func Deserted(records []Record, end int64) []Span {
	return nobody(records, end, "no member was awake", func(p process) []span {
		var out []span
		for _, m := range p.joined {
			out = append(out, span{m.from, min(m.to, p.ended)})
		}
		return out
	})
}

// Unmanned are the spans up to end in which no process was there and awake. They are shorter than the deserted ones:
// how long it takes to become a member is the members' own affair.
func Unmanned(records []Record, end int64) []Span {
	return nobody(records, end, "no process was awake", func(p process) []span { return []span{{p.began, p.ended}} })
}

// nobody are the spans up to end in which no process was awake in its times.
func nobody(records []Record, end int64, why string, times func(process) []span) []Span {
	if len(records) == 0 {
		return nil
	}
	begin := slices.MinFunc(records, func(a, b Record) int { return cmp.Compare(a.At, b.At) }).At
	var able []span
	for _, p := range processesOf(History{Records: records}) {
		for _, t := range times(p) {
			able = append(able, without(t, asleep(p.asleep))...)
		}
	}
	var out []Span
	for _, s := range without(span{begin, end}, byBegin(able)) {
		out = append(out, Span{From: s.from, To: s.to, Why: why})
	}
	return out
}

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
	span
	record  Record
	machine bool // all of the machine stood still
}

// asleep are the times of sleeps.
func asleep(sleeps []sleep) []span {
	out := make([]span, len(sleeps))
	for i, s := range sleeps {
		out[i] = s.span
	}
	return out
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
		p.asleep = append(p.asleep, sleep{span{max(s.From, p.began), min(s.To, p.ended)}, record, true})
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
			p.asleep = append(p.asleep, sleep{span: span{r.At, never}, record: r})
		}
	case Resumed:
		if last >= 0 && p.asleep[last].to == never {
			p.asleep[last].to = r.At
		}
	case Joined, Left:
		p.joined = opened(p.joined, r.Kind == Joined, r.At, never)
	}
}

// opened are spans of which the last one goes on to an end, or has ended, at an instant.
func opened(spans []span, goes bool, at, end int64) []span {
	last := len(spans) - 1
	open := last >= 0 && spans[last].to == end
	switch {
	case goes && !open:
		spans = append(spans, span{at, end})
	case !goes && open:
		spans[last].to = at
	}
	return spans
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
