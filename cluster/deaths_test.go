package cluster

import (
	"bytes"
	"strings"
	"testing"
)

// scripted applies entries one by one.
type scripted struct {
	t   *testing.T
	v   Value
	seq uint64
}

func (s *scripted) apply(c Command) Result {
	s.t.Helper()
	s.seq++
	e := Entry{Writer: "w", Seq: s.seq, Commands: []Command{c}}
	read, err := DecodeEntry(s.v.Index()+1, e.Encode())
	if err != nil {
		s.t.Fatal(err)
	}
	next, did := s.v.Apply(read)
	s.v = next
	return did.Results[0]
}

func (s *scripted) ok(c Command) {
	s.t.Helper()
	if r := s.apply(c); !r.Accepted {
		s.t.Fatalf("%s: %s", c, r.Reason)
	}
}

// join lets a member join; the only one is in at once.
func (s *scripted) join(id MemberID) {
	s.t.Helper()
	s.ok(PrepareJoin{Member: id, Heartbeat: "p"})
	m, _ := s.v.Member(id)
	if m.State == MemberJoined {
		return
	}
	by, _ := s.v.Member(s.v.before(id))
	s.ok(AcceptJoin{Member: id, Incarnation: m.Incarnation, By: by.ID, ByIncarnation: by.Incarnation})
}

func (s *scripted) leave(id MemberID, died bool) {
	s.t.Helper()
	m, _ := s.v.Member(id)
	s.ok(LeaveCluster{Member: id, Incarnation: m.Incarnation, Reason: "its heartbeat is gone", Died: died})
}

func (s *scripted) task() Partition {
	s.t.Helper()
	p, ok := s.v.Partition("poison")
	if !ok {
		s.t.Fatal("the task is gone")
	}
	return p
}

func (s *scripted) submit() {
	s.t.Helper()
	s.ok(SubmitJob{Job: "poison", Spec: JobSpec{Tasks: []TaskSpec{{Type: "t", MaxAttempts: 9}}}})
}

// A task whose owner died three times in a row is parked with that reason, and runs again when it is unparked.
func TestAPoisonTaskIsParked(t *testing.T) {
	t.Parallel()
	s := &scripted{t: t}
	s.submit()
	for _, m := range []MemberID{"a", "b", "c"} {
		s.join(m)
		if p := s.task(); p.Owner != m || p.State != PartitionGranted {
			t.Fatalf("%s", p)
		}
		s.leave(m, true)
	}
	p := s.task()
	if p.State != PartitionParked || p.Deaths != maxDeaths || p.Owner != "" {
		t.Fatalf("%s", p)
	}
	if why := s.v.Why("poison"); why.Rule != "poison" || !strings.Contains(why.Text, "3 members died") || !strings.Contains(why.Try, "rota task retry poison") {
		t.Errorf("why: %+v", why)
	}
	s.join("d")
	if p := s.task(); p.State != PartitionParked {
		t.Errorf("a new member got it: %s", p)
	}
	again, err := DecodeSnapshot(s.v.Snapshot())
	if err != nil || again.Digest() != s.v.Digest() || !bytes.Equal(again.Snapshot(), s.v.Snapshot()) {
		t.Errorf("the snapshot is not read as it was: %v", err)
	}
	s.ok(UnparkPartition{Partition: "poison"})
	if p := s.task(); p.Owner != "d" || p.Deaths != 0 {
		t.Errorf("unparked: %s", p)
	}
}

// Deaths that have nothing to do with each other park nothing: an owner that ran it for long enough says so.
func TestDeathsAreForgiven(t *testing.T) {
	t.Parallel()
	s := &scripted{t: t}
	s.submit()
	for _, m := range []MemberID{"a", "b", "c", "d", "e"} {
		s.join(m)
		p := s.task()
		if p.Deaths > 0 {
			if r := s.apply(Started{Partition: p.ID, Token: p.Token + 1}); r.Accepted {
				t.Fatal("forgiven under a token that is not its owner's")
			}
			s.ok(Started{Partition: p.ID, Token: p.Token})
		}
		if p := s.task(); p.Deaths != 0 || p.Owner != m {
			t.Fatalf("%s", p)
		}
		s.leave(m, true)
	}
	if p := s.task(); p.State == PartitionParked {
		t.Errorf("%s", p)
	}
}

// Who is back as the same process did not die: its store failed. Nothing is parked for that, and what was runs again; another process of the name says nothing.
func TestWhoIsBackDidNotDie(t *testing.T) {
	t.Parallel()
	s := &scripted{t: t}
	s.submit()
	back := func(id MemberID, again bool) {
		s.ok(PrepareJoin{Member: id, Heartbeat: "p", Again: again})
		if p := s.task(); again != (p.Deaths == 0) || again && p.Owner != id {
			t.Fatalf("%s is back, as the same process: %v: %s", id, again, p)
		}
	}
	s.join("a")
	s.leave("a", true)
	back("a", true)
	for range 3 {
		s.leave("a", true)
		back("a", s.task().Deaths == 4)
	}
	if p := s.task(); p.State != PartitionParked {
		t.Fatalf("%s", p)
	}
	s.leave("a", true)
	back("a", true)
}

// An orderly leave is no death.
func TestWhatIsNoDeath(t *testing.T) {
	t.Parallel()
	s := &scripted{t: t}
	s.submit()
	for _, m := range []MemberID{"a", "b", "c", "d"} {
		s.join(m)
		s.leave(m, false)
	}
	if p := s.task(); p.Deaths != 0 || p.State == PartitionParked {
		t.Errorf("left gracefully: %s", p)
	}
}

// A task without a limit of attempts is never parked: who kills all members in turn kills the owners of innocent tasks.
func TestDeathsParkNothingWithoutALimit(t *testing.T) {
	t.Parallel()
	s := &scripted{t: t}
	s.ok(SubmitJob{Job: "poison", Spec: JobSpec{Tasks: []TaskSpec{{Type: "t"}}}})
	for _, m := range []MemberID{"a", "b", "c", "d"} {
		s.join(m)
		s.leave(m, true)
	}
	if p := s.task(); p.State == PartitionParked || p.Deaths != 0 {
		t.Errorf("%s", p)
	}
}
