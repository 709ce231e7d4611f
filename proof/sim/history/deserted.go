package history

import (
	"cmp"
	"slices"
)

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

// Unmanned are the spans up to end in which no process was there and awake. They are shorter than the deserted ones: how long it takes to become a member is the
// members' own affair.
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
		var away []span
		for _, s := range p.asleep {
			away = append(away, span{s.from, s.to})
		}
		for _, t := range times(p) {
			able = append(able, without(t, away)...)
		}
	}
	slices.SortStableFunc(able, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []Span
	for _, s := range without(span{begin, end}, able) {
		out = append(out, Span{From: s.from, To: s.to, Why: why})
	}
	return out
}
