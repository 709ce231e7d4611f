package history

import (
	"cmp"
	"fmt"
	"slices"
)

// span is a time without a run, or one in which a partition should run.
type span struct{ from, to int64 }

func byBegin(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return spans
}

// wanted are the times in which the partition should run: from when it was accepted until it was removed, finished or
// parked.
func (j *judge) wanted(p *part) []span {
	var out []span
	for _, r := range p.life {
		out = opened(out, r.Kind == Accepted, r.At, j.h.End)
	}
	return out
}

// gaps checks G4.
func (j *judge) gaps(p *part) {
	for _, w := range j.wanted(p) {
		j.report.Wanted += duration(w.to - w.from)
		for _, gap := range without(w, p.covered()) {
			j.report.Silent += duration(gap.to - gap.from)
			j.report.LongestSilence = max(j.report.LongestSilence, duration(gap.to-gap.from))
			j.report.Silences = append(j.report.Silences, j.silence(p, gap))
			for _, piece := range j.counted(p, gap) {
				j.gap(p, piece)
			}
		}
	}
}

func (j *judge) gap(p *part, s span) {
	length := duration(s.to - s.from)
	j.report.Gaps = append(j.report.Gaps, Span{From: s.from, To: s.to, Partition: p.id})
	j.report.LongestGap = max(j.report.LongestGap, length)
	if j.h.Bounds.Gap > 0 && length > j.h.Bounds.Gap {
		j.violated("G4", p, fmt.Sprintf("nobody ran it for %s from %s on, at most %s is promised", length,
			millis(s.from), j.h.Bounds.Gap), j.during(p, s)...)
	}
}

// covered are the times in which somebody who was awake ran the partition, by begin.
func (p *part) covered() []span {
	var out []span
	for _, r := range p.runs {
		out = append(out, without(span{r.began.At, r.to}, asleep(r.asleep))...)
	}
	return byBegin(out)
}

// without is what is left of a span when others, sorted by begin, are taken out.
func without(s span, others []span) []span {
	var out []span
	at := s.from
	for _, o := range others {
		if o.to <= at {
			continue
		}
		if o.from >= s.to {
			break
		}
		if o.from > at {
			out = append(out, span{at, o.from})
		}
		at = o.to
	}
	if at < s.to {
		out = append(out, span{at, s.to})
	}
	return out
}

// counted are the pieces of a gap that each count against the bound: what is excused is taken out, and the bound counts
// again when a member that the partition was granted to failed.
func (j *judge) counted(p *part, gap span) []span {
	var out []span
	for _, piece := range without(gap, p.concerned(j.h.Excused)) {
		from := piece.from
		for _, at := range j.owners(p, piece) {
			out = append(out, span{from, at})
			from = at
		}
		out = append(out, span{from, piece.to})
	}
	return out
}

// concerned are those spans that concern the partition, by begin.
func (p *part) concerned(spans []Span) []span {
	var out []span
	for _, s := range spans {
		if s.Partition == "" || s.Partition == p.id {
			out = append(out, span{s.From, s.To})
		}
	}
	return byBegin(out)
}

// silence says of a gap what of it could not be otherwise.
func (j *judge) silence(p *part, gap span) Silence {
	out := Silence{Span: Span{From: gap.from, To: gap.to, Partition: p.id}, Helpless: duration(gap.to - gap.from)}
	asleep := j.suspended(p, gap)
	for _, piece := range without(gap, p.concerned(j.h.Helpless)) {
		out.Helpless -= duration(piece.to - piece.from)
		out.Asleep += duration(piece.to - piece.from)
		for _, awake := range without(piece, asleep) {
			out.Asleep -= duration(awake.to - awake.from)
		}
	}
	return out
}

// suspended are the times of a gap in which the owner was suspended and its lease went on: who had it when the gap
// began, or was given it.
func (j *judge) suspended(p *part, gap span) []span {
	var out []span
	add := func(sleeps []sleep, from, to int64) {
		for _, s := range sleeps {
			if s.from < to && from < s.to && !s.machine {
				out = append(out, span{max(s.from, from), min(s.to, to, s.from+int64(j.h.Bounds.Lease))})
			}
		}
	}
	for _, r := range p.runs {
		if r.began.At <= gap.from && gap.from < r.to {
			add(r.asleep, gap.from, min(gap.to, r.to))
		}
	}
	for i, g := range p.grants {
		for _, o := range j.processes {
			if o.member == g.Member && o.began <= g.At && g.At < o.ended {
				add(o.asleep, max(gap.from, g.At), min(p.until(i, gap.to), o.ended))
			}
		}
	}
	return byBegin(out)
}

// until is when the next grant came, an end at the latest.
func (p *part) until(grant int, end int64) int64 {
	if grant+1 < len(p.grants) {
		return min(end, p.grants[grant+1].At)
	}
	return end
}

// owners are the instants in a gap at which the present owner failed, or the partition came to a member that had
// failed; sorted.
func (j *judge) owners(p *part, gap span) []int64 {
	var out []int64
	for i, g := range p.grants {
		if g.Member == "" {
			continue
		}
		out = append(out, j.failures(g.Member, max(gap.from, g.At), p.until(i, gap.to))...)
		if gap.from <= g.At && g.At < gap.to && j.down(g.Member, g.At) {
			out = append(out, g.At)
		}
	}
	slices.Sort(out)
	return out
}

// during are the records that tell what happened around a gap: the run before, grants and what became of their owners,
// the run behind.
func (j *judge) during(p *part, s span) []Record {
	var out []Record
	for _, r := range p.runs {
		if r.began.At < s.from && r.to >= s.from || r.to == s.from {
			out = append(out, r.proof(j)...)
		}
	}
	for _, g := range p.grants {
		if s.from <= g.At && g.At < s.to {
			out = append(out, g)
		}
	}
	if i := slices.IndexFunc(p.runs, func(r run) bool { return r.began.At >= s.to }); i >= 0 {
		out = append(out, p.runs[i].began)
	}
	return out
}

// lost checks G5.
func (j *judge) lost(p *part) {
	if len(p.life) == 0 || p.life[len(p.life)-1].Kind != Accepted {
		return
	}
	var last Record
	for _, g := range p.grants {
		last = g
	}
	for _, r := range p.runs {
		suspended := slices.ContainsFunc(r.asleep, func(s sleep) bool { // a machine that stands still at the end goes on behind it
			return !s.machine && s.from <= j.h.End && j.h.End < s.to
		})
		if r.to == never && !suspended && (len(p.grants) == 0 || last.Token == r.began.Token) {
			return
		}
	}
	records := []Record{p.life[len(p.life)-1]}
	if last.Kind != 0 {
		records = append(records, last)
	}
	if n := len(p.runs); n > 0 {
		records = append(records, p.runs[n-1].proof(j)...)
	}
	j.violated("G5", p, "it was accepted and nobody runs it at the end", records...)
}
