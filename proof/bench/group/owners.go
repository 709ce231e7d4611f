package main

import (
	"slices"

	"github.com/rota-run/rota/protocol"
)

// owners is who has which partition, by what the members wrote down.
type owners struct {
	partitions int
	of         map[int32]string
	since      map[int32]protocol.Instant
}

func newOwners(partitions int) *owners {
	return &owners{partitions: partitions, of: make(map[int32]string), since: make(map[int32]protocol.Instant)}
}

// take takes in a line. What a member gives back is nobody's, unless another one had it before that was heard of.
func (o *owners) take(l line) {
	for _, p := range l.Unassigned {
		if o.of[p] == l.Member {
			delete(o.of, p)
		}
	}
	for _, p := range l.Assigned {
		if l.At >= o.since[p] {
			o.of[p], o.since[p] = l.Member, l.At
		}
	}
}

// had are the partitions of some members.
func (o *owners) had(members []string) []int32 {
	var out []int32
	for p, m := range o.of {
		if slices.Contains(members, m) {
			out = append(out, p)
		}
	}
	return out
}

// last is when the last of some partitions was given to a member other than the dead; false while one has not been.
func (o *owners) last(partitions []int32, dead []string) (protocol.Instant, bool) {
	var last protocol.Instant
	for _, p := range partitions {
		m, ok := o.of[p]
		if !ok || slices.Contains(dead, m) {
			return 0, false
		}
		last = max(last, o.since[p])
	}
	return last, true
}

// even tells whether these members, and no others, have all partitions, in shares that differ by at most one.
func (o *owners) even(members []string) bool {
	count := make(map[string]int, len(members))
	for _, m := range o.of {
		count[m]++
	}
	least, most := o.partitions, 0
	for _, m := range members {
		least, most = min(least, count[m]), max(most, count[m])
		delete(count, m)
	}
	return len(o.of) == o.partitions && len(count) == 0 && most-least <= 1
}
