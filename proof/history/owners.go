package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// grants checks G1: tokens grow with each new owner, and a token has one owner.
func (j *judge) grants(p *part) {
	var last Record
	for _, g := range p.grants {
		switch {
		case g.Member == "":
			continue
		case g.Token == last.Token && g.Member != last.Member:
			j.violated("G1", p, "one token was granted to two members", last, g)
		case g.Token < last.Token:
			j.violated("G1", p, fmt.Sprintf("token %d was granted after token %d", g.Token, last.Token), last, g)
		}
		if g.Token >= last.Token {
			last = g
		}
	}
	owners := make(map[cluster.Token]Record)
	for _, r := range p.runs {
		if first, ok := owners[r.began.Token]; ok && first.Member != r.began.Member {
			j.violated("G1", p, "two members ran under one token", first, r.began)
			continue
		}
		owners[r.began.Token] = r.began
	}
}

// overlaps checks G2: two runs at once only where the former owner could not know.
func (j *judge) overlaps(p *part) {
	for i, r := range p.runs {
		for _, later := range p.runs[i+1:] {
			if later.began.At >= r.to {
				continue
			}
			length := duration(min(r.to, later.to, j.h.End) - later.began.At)
			j.report.LongestOverlap = max(j.report.LongestOverlap, length)
			former, since := r, later.began.At
			if later.began.Token < r.began.Token { // it was about to begin when it was suspended, and did when it woke
				former, since = later, r.began.At
			}
			switch {
			case former.excused(since, min(r.to, later.to), int64(j.h.Bounds.Wake)):
				j.report.ExcusedPairs++
			case !p.promise.Overlaps:
				j.report.Overlaps++
				j.report.LongestUnexcused = max(j.report.LongestUnexcused, length)
				j.violated("G2", p, fmt.Sprintf("two runs for %s", length), append(r.proof(j), later.proof(j)...)...)
			}
		}
	}
}

// acts checks the rest of G2: each act lies inside a run of its token.
func (j *judge) acts(p *part) {
	wake := int64(j.h.Bounds.Wake)
	for _, a := range p.acts {
		j.report.Acts++
		if a.Kind == Refused {
			j.report.Refused++
		}
		if slices.ContainsFunc(p.runs, func(r run) bool { return r.covers(j, a, wake) }) {
			continue
		}
		j.violated("G2", p, "an act outside of every run of its token", append([]Record{a}, j.around(p, a)...)...)
	}
}

// covers tells whether an act belongs to the run. A process that is being killed may finish its instruction.
func (r run) covers(j *judge, a Record, wake int64) bool {
	if a.Member != r.began.Member || a.Token != r.began.Token || a.Incarnation != 0 &&
		a.Incarnation != r.began.Incarnation || a.At < r.began.At {
		return false
	}
	if a.At <= r.to {
		return true
	}
	return r.stopped.Kind == 0 && j.process(r.began).end.Kind == Killed && a.At <= r.to+wake
}

// around are the runs of the member that acted.
func (j *judge) around(p *part, a Record) []Record {
	var out []Record
	for _, r := range p.runs {
		if r.began.Member == a.Member && r.began.Token == a.Token {
			out = append(out, r.proof(j)...)
		}
	}
	return out
}

// fence checks G3, and what a refusal tells about G2: a member that was refused had a newer owner, and must not have
// known.
func (j *judge) fence(p *part) {
	var newest Record
	for _, a := range p.acts {
		switch {
		case a.Kind == Refused:
			if !p.promise.Overlaps && !j.couldNotKnow(p, a) {
				j.violated("G2", p, "an act under an old token of an owner that was awake", newest, a)
			}
		case a.Token < newest.Token:
			j.violated("G3", p, fmt.Sprintf("the resource took token %d after token %d", a.Token, newest.Token), newest,
				a)
		case a.Token == newest.Token && a.Member != newest.Member:
			j.violated("G3", p, "the resource took one token from two members", newest, a)
		default:
			newest = a
		}
	}
}

// couldNotKnow tells whether the member was suspended before it acted, or between reading the clock and the act.
func (j *judge) couldNotKnow(p *part, a Record) bool {
	wake := int64(j.h.Bounds.Wake)
	return slices.ContainsFunc(p.runs, func(r run) bool {
		return r.covers(j, a, wake) && (r.excused(a.At, a.At, wake) ||
			slices.ContainsFunc(r.asleep, func(s sleep) bool { return a.At <= s.from && s.from <= a.At+wake }))
	})
}

// items checks G6.
func (j *judge) items(p *part) {
	if p.promise.Items == 0 {
		return
	}
	i := slices.IndexFunc(p.life, func(r Record) bool { return r.Kind == Finished })
	if i < 0 {
		return
	}
	done := make(map[int64]bool)
	for _, a := range p.acts {
		if a.Kind == Acted {
			done[a.Item] = true
		}
	}
	for item := int64(1); item <= p.promise.Items; item++ {
		if done[item] {
			j.report.Items++
		} else {
			j.violated("G6", p, fmt.Sprintf("it is finished and item %d was left out", item), p.life[i])
		}
	}
}

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
			r, b := &out[i], m.began
			if r.began.Member == b.Member && r.began.Incarnation == b.Incarnation && r.began.Token == b.Token &&
				r.stopped.Kind == 0 {
				r.stopped, r.to = m.began, min(r.to, m.began.At)
				break
			}
		}
	}
	return out
}

// excused tells whether the process was suspended, so that it could not know at an instant that its run was over, nor
// before to. One that is suspended again before it had the time to see anything has slept all along.
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
