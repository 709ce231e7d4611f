package cluster

import (
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// script folds commands, one entry each, and fails where an expected acceptance is not met.
type script struct {
	t    testing.TB
	v    Value
	seq  uint64
	last Applied
}

func (s *script) do(commands ...Command) Applied {
	s.t.Helper()
	s.seq++
	e := Entry{Index: s.v.Index() + 10, Writer: "w", Seq: s.seq, AtMS: 1000, Commands: commands}
	data := e.Encode()
	e2, err := DecodeEntry(e.Index, data)
	if err != nil {
		s.t.Fatalf("decode %s: %v", e, err)
	}
	old, was := s.v, fmt.Sprint(dump(s.v))
	s.v, s.last = s.v.Apply(e2)
	if now := fmt.Sprint(dump(old)); now != was {
		s.t.Fatalf("the value before it has changed:\n%s\nit was:\n%s", now, was)
	}
	s.checkSnapshot()
	mustDiffer(s.t, old, s.v)
	return s.last
}

// ok is do, and every command must be accepted.
func (s *script) ok(commands ...Command) {
	s.t.Helper()
	for i, r := range s.do(commands...).Results {
		if !r.Accepted {
			s.t.Fatalf("%v: refused: %s", commands[i], r.Reason)
		}
	}
}

// checkSnapshot makes sure that nothing derived depends on history.
func (s *script) checkSnapshot() {
	s.t.Helper()
	got, err := DecodeSnapshot(s.v.Snapshot())
	if err != nil {
		s.t.Fatalf("snapshot: %v\n%s", err, s.v)
	}
	if a, b := fmt.Sprint(dump(s.v)), fmt.Sprint(dump(got)); a != b {
		s.t.Fatalf("derived from history:\n%s\nfrom the snapshot:\n%s", a, b)
	}
}

func dump(v Value) []string {
	var out []string
	put := func(name string) func(string, PartitionID) bool {
		return func(k string, p PartitionID) bool {
			out = append(out, fmt.Sprintf("%s %q %s", name, k, p))
			return true
		}
	}
	ordered.Pairs(&v.derived.byMember, put("byMember"))
	ordered.Pairs(&v.derived.movable, put("movable"))
	ordered.Pairs(&v.derived.unplaced, put("unplaced"))
	ordered.Each(&v.derived.everies, put("everies"))
	ordered.Each(&v.derived.children, put("children"))
	ordered.Pairs(&v.derived.spent, func(k, p string) bool {
		out = append(out, fmt.Sprintf("spent %q %q", k, p))
		return true
	})
	ordered.Each(&v.derived.counts, func(k string, n int64) bool {
		out = append(out, fmt.Sprintf("count %q %d", k, n))
		return true
	})
	ordered.Each(&v.derived.loads, func(k MemberID, l load) bool {
		out = append(out, fmt.Sprintf("load %s %v", k, l))
		return true
	})
	ordered.Each(&v.derived.classes, func(k string, c classRecord) bool {
		out = append(out, fmt.Sprintf("class %q %d", k, c.refs))
		return true
	})
	ordered.Each(&v.derived.pools, func(k string, _ JobID) bool { out = append(out, "pool "+k); return true })
	ordered.Each(&v.derived.free, func(k string, s schedule.Slot) bool {
		out = append(out, fmt.Sprintf("free %q %s", k, s))
		return true
	})
	ordered.Each(&v.derived.held, func(k string, h heldSlot) bool {
		out = append(out, fmt.Sprintf("held %q %v", k, h))
		return true
	})
	ordered.Each(&v.derived.ended, func(k string, j JobID) bool {
		out = append(out, fmt.Sprintf("ended %q %s", k, j))
		return true
	})
	ordered.Each(&v.jobs, func(k JobID, j *jobRecord) bool {
		out = append(out, fmt.Sprintf("open %s %d", k, j.open))
		return true
	})
	return append(out, fmt.Sprint(v.derived.joined, v.derived.moving, v.Digest(), v.Chain(), v.Index()))
}

func single(id string) SubmitJob {
	return SubmitJob{Job: JobID(id), Spec: JobSpec{Tasks: []TaskSpec{{Type: "noop"}}}}
}

func prepare(m string) PrepareJoin { return PrepareJoin{Member: MemberID(m), Heartbeat: "pulse/" + m} }

func (s *script) join(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		s.ok(prepare(id))
		m, _ := s.v.Member(MemberID(id))
		if m.State == MemberJoined {
			continue
		}
		by := s.v.before(MemberID(id))
		b, _ := s.v.Member(by)
		s.ok(AcceptJoin{Member: m.ID, Incarnation: m.Incarnation, By: by, ByIncarnation: b.Incarnation})
	}
	s.settle()
}

// settle writes what live members would write until nothing is in hand-over.
func (s *script) settle() {
	s.t.Helper()
	for range 100 {
		var out []Command
		for p := range s.v.Partitions() {
			switch p.State {
			case PartitionReleasing:
				out = append(out, Stopped{p.ID, p.Token})
			case PartitionAdopting:
				out = append(out, Started{p.ID, p.NextToken})
			}
		}
		if len(out) == 0 {
			return
		}
		s.ok(out...)
	}
	s.t.Fatalf("hand-over does not end:\n%s", s.v)
}

func (s *script) owners() map[MemberID]int {
	out := make(map[MemberID]int)
	for p := range s.v.Partitions() {
		out[p.Owner]++
	}
	return out
}

// TestForgetPlaced: a class waits no longer when a plan places all of it. A move of an item that has an owner does not
// count.
func TestForgetPlaced(t *testing.T) {
	t.Parallel()
	for from, left := range map[int]int{-1: 0, 0: 2, 1: 2} {
		d := &derived{}
		ordered.Add(&d.unplaced, "c", PartitionID("j#1"), PartitionID("j#2"))
		d.forgetPlaced([]schedule.Class{{Key: "b"}, {Key: "c"}}, []schedule.Move{{Class: 1, From: -1}, {Class: 1, From: from}})
		if got := ordered.Count(&d.unplaced, "c"); got != left {
			t.Errorf("one of two is placed and one comes from %d: %d wait, want %d", from, got, left)
		}
	}
}
