package main

import (
	"slices"
	"testing"
)

// Each change is in one partition, which has its key at its time, and what a partition continues ends before it begins.
func TestStream(t *testing.T) {
	t.Parallel()
	c := config{Partitions: 64, Times: 1000, Each: 20}
	s := newStream(c)
	seen, splits, merges := map[int]bool{}, 0, 0
	for _, p := range s.all {
		for _, ch := range p.changes {
			if seen[ch.at] || ch.key < p.low || ch.key >= p.high {
				t.Errorf("%s has %+v", p.name, ch)
			}
			seen[ch.at] = true
		}
		for _, child := range p.children {
			if !slices.Contains(child.parents, p.name) || !slices.IsSorted(child.parents) {
				t.Errorf("%s does not continue %s, but %q", child.name, p.name, child.parents)
			}
			if len(p.changes) > 0 && len(child.changes) > 0 && child.changes[0].at < p.changes[len(p.changes)-1].at {
				t.Errorf("%s begins before the end of %s", child.name, p.name)
			}
		}
		if len(p.children) == 2 {
			splits++
		}
		if len(p.parents) == 2 {
			merges++
		}
	}
	if len(seen) != c.Times*c.Each || splits != 500 || merges != 500 || len(s.all) != 64+2*500+500 {
		t.Errorf("%d changes, %d splits, %d merges, %d partitions", len(seen), splits, merges, len(s.all))
	}
	if again := newStream(c); again.all[700].changes[0] != s.all[700].changes[0] {
		t.Error("the same config makes another stream")
	}
}

// A position is that of the last change before: reading goes on behind it.
func TestReadFromPosition(t *testing.T) {
	t.Parallel()
	for _, p := range newStream(config{Partitions: 4, Times: 9, Each: 30}).all {
		var got []change
		after, more := 0, true
		for more {
			var some []change
			if some, more = p.read(after, 3); len(some) > 0 {
				after = some[len(some)-1].at
			}
			got = append(got, some...)
		}
		if !slices.Equal(got, p.changes) {
			t.Errorf("%s: %v, not %v", p.name, got, p.changes)
		}
	}
}
