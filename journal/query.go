package journal

import (
	"cmp"
	"slices"
	"strings"
)

// usualLimit is how many records a query without a limit gets.
const usualLimit = 1000

func (q Query) matches(r Record) bool {
	if !q.Since.IsZero() && r.AtMS < q.Since.UnixMilli() {
		return false
	}
	if !q.Until.IsZero() && r.AtMS >= q.Until.UnixMilli() {
		return false
	}
	if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, r.Kind) {
		return false
	}
	p := q.Partition
	return p == "" || r.Partition == p || strings.HasPrefix(r.Partition, p+"#") || strings.HasPrefix(r.Partition, p+"/")
}

// answer sorts the matching records by time and keeps the newest, oldest first. Records of one millisecond stay in the order given.
func (q Query) answer(all []Record) []Record {
	out := make([]Record, 0, len(all))
	for _, r := range all {
		if q.matches(r) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Record) int { return cmp.Compare(a.AtMS, b.AtMS) })
	return out[max(0, len(out)-q.limit()):]
}

func (q Query) limit() int {
	if q.Limit <= 0 {
		return usualLimit
	}
	return q.Limit
}
