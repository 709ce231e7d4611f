package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Decide judges a history. The same records, in whatever order but that of the resource and of the log, lead to the same report.
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
		i, ok := slices.BinarySearchFunc(out, id, func(p *part, id cluster.PartitionID) int { return cmp.Compare(p.id, id) })
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
	j.report.Partitions++
	j.report.Grants += len(p.grants)
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
	j.report.Violations = append(j.report.Violations, Violation{Promise: promise, Partition: p.id, Text: text, Records: records})
}

func duration(ns int64) time.Duration { return time.Duration(ns) }
