package history

import (
	"cmp"
	"slices"
)

// Deserted are the spans up to end in which no process was a member and awake: nobody could run anything.
func Deserted(records []Record, end int64) []Span {
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
		for _, m := range p.joined {
			able = append(able, without(span{m.from, min(m.to, p.ended)}, away)...)
		}
	}
	slices.SortStableFunc(able, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []Span
	for _, s := range without(span{begin, end}, able) {
		out = append(out, Span{From: s.from, To: s.to, Why: "no member was awake"})
	}
	return out
}
