package journal

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// alike is what records have in common that are summed up when the queue is full: many moves for one cause make one record.
type alike struct {
	kind                        Kind
	member, by, from, to, cause string
}

type total struct {
	count       int64
	first, last int64 // AtMS
	gap         *int64
}

// sums are the records that did not fit into the queue, by what they have in common.
type sums map[alike]total

// maxSums bounds the kinds of records that are kept apart: beyond it only kind and member are.
const maxSums = 64

func (s sums) add(r Record) {
	k := alike{r.Kind, r.Member, r.By, r.From, r.To, r.Cause}
	t, ok := s[k]
	if !ok && len(s) >= maxSums {
		k = alike{kind: r.Kind, member: r.Member}
		t, ok = s[k]
	}
	if !ok {
		t.first = r.AtMS
	}
	t.count++
	t.first, t.last = min(t.first, r.AtMS), max(t.last, r.AtMS)
	if r.GapMS != nil && (t.gap == nil || *r.GapMS > *t.gap) {
		t.gap = r.GapMS
	}
	s[k] = t
}

// count is the number of records that were summed up.
func (s sums) count() (n int64) {
	for _, t := range s { // order-free: a sum
		n += t.count
	}
	return n
}

// records are one record for each kind, oldest first.
func (s sums) records() []Record {
	out := make([]Record, 0, len(s))
	for k, t := range s { // order-free: sorted below
		r := Record{AtMS: t.last, Kind: k.kind, Member: k.member, By: k.by, From: k.from, To: k.to, Cause: k.cause, GapMS: t.gap}
		r.Message = fmt.Sprintf("%d more like this within %s, too many at once to be kept one by one", t.count, time.Duration(t.last-t.first)*time.Millisecond)
		if t.gap != nil {
			r.Message += "; the longest"
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Record) int { return cmp.Or(cmp.Compare(a.AtMS, b.AtMS), cmp.Compare(a.Line(), b.Line())) })
	return out
}
