package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// stream splits one leaf off in each step, and continues in a new partition.
type stream struct {
	*windowBench
	n    int
	keep int
}

func newStream(t testing.TB, keep int) *stream {
	s := &stream{windowBench: &windowBench{bench: &bench{b: t}}, keep: keep}
	s.write(PrepareJoin{Member: "m", Heartbeat: "p"})
	s.write(SubmitJob{Job: "j",
		Spec: JobSpec{Tasks: []TaskSpec{{Type: "x", Spread: SpreadPartitioned, Partitions: []string{"0"}}}}})
	return s
}

func (s *stream) at(key string) Partition {
	p, ok := s.v.Partition(NewPartitionID("j", "", key))
	if !ok {
		s.b.Fatalf("there is no partition %s", key)
	}
	return p
}

func (s *stream) finish(key string) {
	p := s.at(key)
	s.write(FinishPartition{Partition: p.ID, Token: p.Token})
}

// step is one split as a runner does it: what is spent goes, at most one more than there are children.
func (s *stream) step() {
	p := s.at(fmt.Sprint(s.n))
	_, _, key := p.ID.Split()
	s.n++
	next, leaf := fmt.Sprint(s.n), fmt.Sprint(s.n, "-leaf")
	c := SplitPartition{Partition: p.ID, Token: p.Token,
		Children: []Child{{next, []string{key}}, {leaf, []string{key}}}}
	for q := range s.v.Spent(p.ID, s.keep) {
		if len(c.Done) == len(c.Children)+1 {
			break
		}
		_, _, k := q.ID.Split()
		c.Done = append(c.Done, k)
	}
	s.write(c)
	s.finish(key)
	s.finish(leaf)
}

// A change stream has no end: what it leaves behind is bounded.
func TestAStreamStaysSmall(t *testing.T) {
	t.Parallel()
	s := newStream(t, 50)
	size, count := 0, 0
	for i := range 4000 {
		s.step()
		switch n := s.v.PartitionCount(); {
		case i == 1000:
			size, count = len(s.v.Snapshot()), n
		case i > 1000 && n > count+3:
			t.Fatalf("%d partitions after %d splits, %d after 1,000", n, i+1, count)
		}
	}
	if now := len(s.v.Snapshot()); now > size+size/10 {
		t.Errorf("a snapshot of %d bytes after 4,000 splits, %d after 1,000", now, size)
	}
	if count > 50+10*50+5 {
		t.Errorf("it keeps %d partitions", count)
	}
	s.at("0") // the spec lists it: an update would add it again
	s.at("3999")
	s.at(fmt.Sprint(4000-500+10, "-leaf"))
}

// Nothing goes that a child waits for, and those that were granted first go first.
func TestSpentIsInOrder(t *testing.T) {
	t.Parallel()
	s := newStream(t, 1<<20)
	for range 4 {
		s.step()
	}
	spent := func(keep int) string {
		var keys []string
		for p := range s.v.Spent("j#0", keep) {
			_, _, key := p.ID.Split()
			keys = append(keys, key)
		}
		for range s.v.Spent("j#0", keep) { // who has enough gets no more
			break
		}
		return strings.Join(keys, " ")
	}
	split := func(key string, children ...Child) {
		p := s.at(key)
		s.write(SplitPartition{Partition: p.ID, Token: p.Token, Children: children})
	}
	is := func(keep int, want string) {
		t.Helper()
		if got := spent(keep); got != want {
			t.Errorf("keeping %d: %q are spent, want %q", keep, got, want)
		}
	}
	is(0, "1 2 3 1-leaf 2-leaf 3-leaf 4-leaf")
	is(1, "1 2")
	split("4", Child{"late", []string{"2-leaf", "4"}}) // a merge with a parent that is far ahead
	is(0, "1 2 3 1-leaf 3-leaf 4-leaf")
	s.finish("4")
	is(0, "1 2 2-leaf 3 4 1-leaf 3-leaf 4-leaf")
	loaded, err := DecodeSnapshot(s.v.Snapshot())
	if err != nil || !slices.Equal(dump(loaded), dump(s.v)) {
		t.Errorf("a snapshot has something else: %v", err)
	}
}

// BenchmarkSplits is one split, the end of its parent and of one child, with all that a runner keeps.
func BenchmarkSplits(b *testing.B) {
	s := newStream(b, 1000)
	for b.Loop() {
		s.step()
	}
	b.ReportMetric(float64(len(s.v.Snapshot())), "snapshot-B")
	b.ReportMetric(float64(s.v.PartitionCount()), "partitions")
}
