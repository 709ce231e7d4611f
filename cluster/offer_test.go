package cluster

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ledCommand is one of all that a leader can say about v.
func (c *choices) ledCommand(v Value) Command {
	all := slices.Collect(v.Partitions())
	if len(all) > 0 && c.n(3) > 0 {
		p := all[c.n(len(all))]
		switch c.n(5) {
		case 0, 1:
			return AcceptOffer{p.ID, c.near(p.Token)}
		case 2:
			return RevokeOffer{p.ID, c.near(p.Token), c.bool()}
		}
	}
	if c.n(10) == 9 {
		return TakeRequest{Writer: pick[WriterID](c, "r1", "r2"), Seq: uint64(c.n(4)), Count: uint32(c.n(3))}
	}
	if c.n(4) == 0 {
		p := PrepareJoin{Member: c.member(), Slots: int64(c.n(4)), Heartbeat: "p"}
		if old, ok := v.Member(p.Member); ok {
			p.Replaces = c.near(old.Incarnation)
		}
		return p
	}
	return c.anyCommand(v)
}

// led plays a story under leaders that take over from each other.
func led(t interface{ Fatalf(string, ...any) }, story string) Value {
	c, v := &choices{[]byte(story)}, Value{}
	for seq := uint64(1); len(c.data) > 0 && seq < 150; seq++ {
		e := Entry{Index: v.index + 1, Writer: pick[WriterID](c, "l1", "l1", "l1", "l2"), Seq: seq, AtMS: int64(seq)}
		if c.n(12) == 0 || v.leader.Term == 0 {
			e.Commands = append(e.Commands, Lead{Member: c.member(), Term: v.leader.Term + uint64(c.n(3)),
				OfferMS: 100})
		}
		for range 1 + c.n(3) {
			e.Commands = append(e.Commands, c.ledCommand(v))
		}
		next, did := mustApply(t, v, e)
		mustBeLed(t, v, next, e, did)
		v = next
	}
	return v
}

// mustApply applies an entry, and wants what holds after any.
func mustApply(t interface{ Fatalf(string, ...any) }, v Value, e Entry) (Value, Applied) {
	next, did := v.Apply(e)
	mustKeepTokens(t, v, next)
	mustBelong(t, next)
	mustBeWhole(t, next)
	mustDiffer(t, v, next)
	return next, did
}

// mustBeLed: an entry does something only if its writer leads, or begins to; offers are of what is granted, and
// accepted once.
func mustBeLed(t interface{ Fatalf(string, ...any) }, was, v Value, e Entry, did Applied) {
	if l, _ := v.Leader(); e.Writer != l.Writer && v.Digest() != was.Digest() {
		t.Fatalf("%v did something under %+v", e, l)
	}
	if l, _ := was.Leader(); l.Term > v.leader.Term || l.Term == v.leader.Term && l != v.leader {
		t.Fatalf("from %+v to %+v", l, v.leader)
	}
	for p := range v.Partitions() {
		old, _ := was.Partition(p.ID)
		switch {
		case p.Offered && (p.State != PartitionGranted || p.Owner == ""):
			t.Fatalf("%v is offered", p)
		case p.Owner != "" && p.Token != old.Token && p.Token == v.index && p.State == PartitionGranted && !p.Offered &&
			!accepts(e, p) && old.State != PartitionAdopting:
			t.Fatalf("%v was not offered before it was granted", p)
		case p.State == PartitionReleasing && old.Offered && old.Token == p.Token && !accepts(e, p):
			t.Fatalf("%v waits for a member that never ran it", p)
		}
		if planned(old, p, v.index) && revokedBefore(was, v, p.Owner) {
			t.Fatalf("%v was given to a member whose offers are revoked", p)
		}
	}
	for i, c := range e.Commands {
		if r, ok := c.(FinishPartition); ok && did.Results[i].Accepted {
			if p, _ := was.Partition(r.Partition); p.Offered && p.Token == r.Token && !accepts(e, p) {
				t.Fatalf("%v: finished before the offer was accepted", p)
			}
		}
	}
}

// planned reports whether a partition was given to another member now: it was not on its way there, nor had somebody
// asked to try again what is parked there.
func planned(old, p Partition, now Index) bool {
	return p.Token == now && p.Owner != old.Owner && p.Owner != old.Next && old.State != PartitionParked
}

// revokedBefore reports whether a member gets no offers, in both of two values.
func revokedBefore(was, v Value, id MemberID) bool {
	old, _ := was.Member(id)
	m, _ := v.Member(id)
	return old.Revoked && m.Revoked && old.Incarnation == m.Incarnation
}

func accepts(e Entry, p Partition) bool {
	return slices.ContainsFunc(e.Commands, func(c Command) bool {
		a, ok := c.(AcceptOffer)
		return ok && a.Partition == p.ID
	})
}

// mustDiffer: what is said to have changed is what has, and no more.
func mustDiffer(t interface{ Fatalf(string, ...any) }, was, v Value) {
	cut := v
	cut.recent = nil
	fast, slow := Changes(was, v), Changes(was, cut)
	byKind := func(a, b Record) int { return int(a.kind()) - int(b.kind()) }
	if !slices.Equal(fast, slow) || !slices.IsSortedFunc(fast, byKind) {
		t.Fatalf("the change is %v, from the records it is %v", fast, slow)
	}
	for m := range v.Members() {
		fast, slow := v.DutiesAfter(was, was.Duties(m.ID), m.ID), v.Duties(m.ID)
		if !slices.Equal(fast, slow) {
			t.Fatalf("after a step the duties of %s are %v, from the records %v", m.ID, fast, slow)
		}
		same := func(a, b Duty) bool { return a.Partition == b.Partition && a.Role == b.Role && a.Token == b.Token }
		if m.Changed != v.index && !slices.EqualFunc(slow, was.Duties(m.ID), same) {
			t.Fatalf("%s is not told that its duties are %v", m.ID, slow)
		}
		for _, d := range slow {
			if p, _ := v.Partition(d.Partition.ID); p.Offered {
				t.Fatalf("%v is a duty before it is accepted", p)
			}
		}
	}
}

func TestApplyUnderLeaders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v := led(rt, string(rapid.SliceOfN(rapid.Byte(), 100, 400).Draw(rt, "story")))
		if len(Changes(v, v)) != 0 {
			rt.Fatal("a value differs from itself")
		}
	})
}

// A chain of steps that was cut still leads back over some hundred entries, and a longer way costs a look at all.
func TestChangesOverManyEntries(t *testing.T) {
	t.Parallel()
	v, _ := Value{}.Apply(Entry{Index: 1, Writer: "w", Seq: 1,
		Commands: []Command{PrepareJoin{Member: "a", Heartbeat: "p"}}})
	values := []Value{v}
	for i := range 3 * maxSteps {
		v, _ = v.Apply(Entry{Index: v.Index() + 1, Writer: "w", Seq: uint64(i + 2),
			Commands: []Command{DrainMember{Member: "a", On: i%2 == 0}}})
		values = append(values, v)
	}
	for back := range len(values) {
		was := values[len(values)-1-back]
		mustDiffer(t, was, v)
		if _, ok := v.recent.since(was.chain); back < maxSteps && !ok {
			t.Fatalf("%d entries back is forgotten", back)
		}
	}
	if v.recent.length > maxSteps {
		t.Fatalf("%d steps are kept", v.recent.length)
	}
}

// If a move is cancelled, its target learns that its duties have changed.
func TestTargetOfACancelledMove(t *testing.T) {
	t.Parallel()
	s := &script{t: t}
	s.join("a")
	s.ok(SubmitJob{Job: "x", Spec: JobSpec{Tasks: []TaskSpec{{Type: "noop", Handover: HandoverNoGap}}}})
	s.join("b")
	s.ok(DrainMember{Member: "a", On: true})
	p, _ := s.v.Partition("x")
	s.ok(DrainMember{Member: "a"})
	s.ok(Stopped{"x", p.NextToken}) // it could not take over
	if b, _ := s.v.Member("b"); p.Next != "b" || len(s.v.Duties("b")) > 0 || b.Changed != s.v.Index() {
		t.Errorf("%v was cancelled at %d: %+v", p, s.v.Index(), b)
	}
}

// Members stand by in the order in which they joined, and follow each other in that of their names.
func TestOrderOfMembers(t *testing.T) {
	t.Parallel()
	s := &script{t: t}
	s.ok(Lead{Member: "b", Term: 1})
	s.join("d", "c", "b", "a")
	if got := s.v.StandBys(); !slices.Equal(got, []MemberID{"d", "c"}) {
		t.Errorf("%q stand by", got)
	}
	for id, want := range map[MemberID]MemberID{"a": "b", "bb": "c", "d": "a", "": "a"} {
		if got := s.v.Following(id); got != want {
			t.Errorf("%q follows %q, want %q", got, id, want)
		}
	}
}

// The same request, taken twice by two leaders, counts once, and the next one of its writer counts.
func TestARequestIsTakenOnce(t *testing.T) {
	t.Parallel()
	submit := []Command{TakeRequest{Writer: "r", Seq: 1, Count: 1}, Configure{Retention: 5}, Configure{MoveBudget: 7}}
	v, did := Value{}.Apply(Entry{Index: 1, Writer: "l1", Seq: 1,
		Commands: append([]Command{Lead{Member: "a", Term: 1}}, submit...)})
	if !did.Results[2].Accepted {
		t.Fatal(did)
	}
	v, _ = v.Apply(Entry{Index: 2, Writer: "l1", Seq: 2, Commands: []Command{Configure{Retention: 9}}})
	v, did = v.Apply(Entry{Index: 3, Writer: "l2", Seq: 1,
		Commands: slices.Concat([]Command{Lead{Member: "b", Term: 2}}, submit,
			[]Command{TakeRequest{Writer: "r", Seq: 2, Count: 1}, Configure{MoveBudget: 8}})})
	if v.Settings().Retention != 9 || did.Results[2].Reason != RequestTaken || !did.Results[3].Accepted ||
		v.Settings().MoveBudget != 8 {
		t.Fatalf("%+v %+v", v.Settings(), did)
	}
	if _, did = v.Apply(Entry{Index: 4, Writer: "l1", Seq: 3,
		Commands: []Command{Configure{Retention: 1}}}); did.Results[0].Accepted {
		t.Fatal("the leader of a former term goes on")
	}
}
