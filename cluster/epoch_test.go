package cluster

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// epochCommand is one of all that members of a group can say about v.
func (c *choices) epochCommand(v Value) Command {
	all := slices.Collect(v.Partitions())
	switch c.n(6) {
	case 0:
		return c.epoch(v)
	case 1:
		if shares := v.Shares(c.member()); len(shares) > 0 {
			return shares[c.n(len(shares))]
		}
	case 2:
		if len(all) > 0 {
			p := all[c.n(len(all))]
			return Share{p.ID, c.near(p.Token), pick[MemberID](c, "a", "b", "c", "d", "")}
		}
	case 3:
		m, _ := v.Member(c.member())
		own := Own{Member: m.ID, Incarnation: c.near(m.Incarnation), Full: c.bool()}
		for p := range v.OwnedBy(m.ID) {
			own.Partitions = append(own.Partitions, Owned{p.ID, c.near(p.Token)})
		}
		return own
	}
	return c.anyCommand(v)
}

// epoch is the next one mostly, or one that comes late.
func (c *choices) epoch(v Value) Command {
	now, _ := v.Epoch()
	e := Epoch{Start: max(1, now.Start), Generation: now.Generation + uint64(pick(c, 1, 1, 1, 2, 0))}
	if c.n(6) == 5 {
		e.Start, e.Generation = now.Start+1, 1
	}
	for _, id := range []MemberID{"a", "b", "c", "d"} {
		if c.n(3) == 0 {
			continue
		}
		m := EpochMember{Join: PrepareJoin{Member: id, Heartbeat: "g/" + string(id), Capacity: pick[int64](c, 0, 0, 2)}}
		if old, ok := v.Member(id); ok && c.n(5) > 0 {
			m.Incarnation, m.Join.Heartbeat = old.Incarnation, old.Heartbeat
		} else if c.bool() {
			m.Join.Heartbeat += "/again"
		}
		e.Members = append(e.Members, m)
	}
	if len(e.Members) > 0 {
		e.Leader = e.Members[c.n(len(e.Members))].Join.Member
	}
	return e
}

// inEpochs plays a story under epochs.
func inEpochs(t interface{ Fatalf(string, ...any) }, story string) Value {
	c, v := &choices{[]byte(story)}, Value{}
	for seq := uint64(1); len(c.data) > 0 && seq < 150; seq++ {
		e := Entry{Index: v.index + 1, Writer: pick[WriterID](c, "w", "w2"), Seq: seq, AtMS: int64(seq)}
		if !v.shared() {
			e.Commands = []Command{Place{PlacementShared}}
		}
		for range 1 + c.n(2) {
			e.Commands = append(e.Commands, c.epochCommand(v))
		}
		next, did := mustApply(t, v, e)
		mustBeInEpoch(t, v, next, e, did)
		v = next
	}
	return v
}

// mustBeInEpoch: the epoch goes up, its members are those that it names, and what a survivor owns moves by a share of its own alone.
func mustBeInEpoch(t interface{ Fatalf(string, ...any) }, was, v Value, e Entry, did Applied) {
	before, _ := was.Epoch()
	now, _ := v.Epoch()
	if now != before && !before.Above(now.Start, now.Generation) {
		t.Fatalf("%v: from the epoch %v to %v", e, before, now)
	}
	shared := map[PartitionID]bool{}
	for i, c := range e.Commands {
		switch c := c.(type) {
		case Epoch:
			if did.Results[i].Accepted && len(e.Commands) == 1 {
				mustBeNamed(t, was, v, c)
			}
		case Share:
			shared[c.Partition] = did.Results[i].Accepted
		case Own:
			if did.Results[i].Accepted && len(e.Commands) == 1 && len(v.recent.notes) > 0 {
				t.Fatalf("%v changed records", e)
			}
		}
	}
	if len(e.Commands) != 1 {
		return
	}
	for p := range was.Partitions() {
		next, ok := v.Partition(p.ID)
		m, in := v.Member(p.Owner)
		old, _ := was.Member(p.Owner)
		if _, epoch := e.Commands[0].(Epoch); epoch && ok && in && m.Incarnation == old.Incarnation && p.State == PartitionGranted && next.Token != p.Token {
			t.Fatalf("%v moved %v, whose owner is in it, to %v", e, p, next)
		}
		if _, share := e.Commands[0].(Share); share && !shared[p.ID] && next.Token != p.Token {
			t.Fatalf("%v is void, and moved %v to %v", e, p, next)
		}
	}
}

func mustBeNamed(t interface{ Fatalf(string, ...any) }, was, v Value, c Epoch) {
	for m := range v.Members() {
		i, ok := findMember(c.Members, m.ID)
		if m.State == MemberJoined && (!ok || c.Members[i].Join.Heartbeat != m.Heartbeat) {
			t.Fatalf("%v has the member %v", c, m)
		}
	}
	for _, m := range c.Members {
		got, ok := v.Member(m.Join.Member)
		if m.Incarnation == 0 && (!ok || got.State != MemberJoined || got.Heartbeat != m.Join.Heartbeat) {
			t.Fatalf("%v has %v for %s", c, got, m.Join.Member)
		}
		if old, had := was.Member(m.Join.Member); had && old.Heartbeat == m.Join.Heartbeat && old.State == MemberJoined && old.Incarnation != got.Incarnation {
			t.Fatalf("%v made of %v another incarnation: %v", c, old, got)
		}
	}
}

func TestWhateverIsSaidInEpochs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v := inEpochs(rt, string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(rt, "story")))
		got, err := DecodeSnapshot(v.Snapshot())
		if err != nil || got.String() != v.String() || got.Digest() != v.Digest() {
			rt.Fatalf("a snapshot of\n%s\nis read as\n%s, %v", v, got, err)
		}
	})
}

// group is a cluster where owners share, with members in its epoch 1.1.
func group(t *testing.T, members ...MemberID) Value {
	t.Helper()
	e := Epoch{Start: 1, Generation: 1, Leader: members[0]}
	for _, m := range members {
		e.Members = append(e.Members, EpochMember{Join: PrepareJoin{Member: m, Heartbeat: "g/" + string(m)}})
	}
	return say(t, Value{}, "", e)
}

// say applies one command, which must be refused with a reason, or accepted.
func say(t *testing.T, v Value, why string, c Command) Value {
	t.Helper()
	next, did := v.Apply(Entry{Index: v.Index() + 1, Writer: "w", Seq: uint64(v.Index()) + 1, Commands: []Command{c}})
	if did.Results[0].Reason != why {
		t.Fatalf("%v: %q, not %q", c, did.Results[0].Reason, why)
	}
	return next
}

func member(v Value, id MemberID) EpochMember {
	m, _ := v.Member(id)
	return EpochMember{Incarnation: m.Incarnation, Join: PrepareJoin{Member: id, Heartbeat: "g/" + string(id)}}
}

func owner(t *testing.T, v Value, id PartitionID, want MemberID) Partition {
	t.Helper()
	p, _ := v.Partition(id)
	if p.Owner != want {
		t.Fatalf("%s is owned by %q, not %q\n%s", id, p.Owner, want, v)
	}
	return p
}

func oneTask(spread Spread, handover Handover) JobSpec {
	return JobSpec{Tasks: []TaskSpec{{Type: "noop", Spread: spread, Handover: handover}}}
}

// TestLateEpoch is K1: the epoch of an evicted leader comes after that of its successor.
func TestLateEpoch(t *testing.T) {
	t.Parallel()
	v := say(t, group(t, "a", "b"), "", SubmitJob{Job: "x", Spec: oneTask(SpreadSingle, HandoverAtMostOne)})
	owner(t, v, "x", "a")
	late := Epoch{Start: 1, Generation: 2, Leader: "a", Members: []EpochMember{member(v, "a"), member(v, "b")}}
	v = say(t, v, "", Epoch{Start: 1, Generation: 3, Leader: "b", Members: []EpochMember{member(v, "b")}})
	owner(t, v, "x", "b")
	v = say(t, v, "the epoch 1.3 is not below it", late)
	owner(t, v, "x", "b")
	v = say(t, v, "", Epoch{Start: 2, Generation: 1, Leader: "b", Members: []EpochMember{member(v, "b")}}) // the group was forgotten
	owner(t, v, "x", "b")
}

// TestShareToTheDead is K3, and K2: a share to a member that is not in the epoch is void, and its owner keeps it.
func TestShareToTheDead(t *testing.T) {
	t.Parallel()
	v := say(t, group(t, "a", "b"), "", SubmitJob{Job: "x", Spec: oneTask(SpreadSingle, HandoverFast)})
	p := owner(t, v, "x", "a")
	v = say(t, v, "", Epoch{Start: 1, Generation: 2, Leader: "a", Members: []EpochMember{member(v, "a")}})
	v = say(t, v, "void: b is not in the epoch 1.2", Share{"x", p.Token, "b"})
	v = say(t, v, "void: c is not in the epoch 1.2", Share{"x", p.Token, "c"}) // it joins, and is not prepared
	owner(t, v, "x", "a")
	v = say(t, v, "", Epoch{Start: 1, Generation: 3, Leader: "a", Members: []EpochMember{member(v, "a"), member(v, "c")}})
	owner(t, v, "x", "a") // a join moves nothing
	v = say(t, v, "", Share{"x", p.Token, "c"})
	owner(t, v, "x", "c")
	v = say(t, v, "the token is not its owner's", Share{"x", p.Token, "a"}) // the former owner says it again
	owner(t, v, "x", "c")
}

// TestLostShare is K4: the owner shares, and is lost before it has stopped: its share holds. Who it is shared to is lost: the partition is placed.
func TestLostShare(t *testing.T) {
	t.Parallel()
	v := say(t, group(t, "a", "b", "c"), "", SubmitJob{Job: "x", Spec: oneTask(SpreadSingle, HandoverAtMostOne)})
	v = say(t, v, "", Share{"x", owner(t, v, "x", "a").Token, "c"})
	owner(t, v, "x", "a") // until it has stopped
	first := say(t, v, "", Epoch{Start: 1, Generation: 2, Leader: "b", Members: []EpochMember{member(v, "b"), member(v, "c")}})
	owner(t, first, "x", "c")
	second := say(t, v, "", Epoch{Start: 1, Generation: 2, Leader: "a", Members: []EpochMember{member(v, "a"), member(v, "b")}})
	second = say(t, second, "", Stopped{"x", owner(t, second, "x", "a").Token})
	if p, _ := second.Partition("x"); p.State != PartitionGranted {
		t.Errorf("%v", p)
	}
	both := say(t, v, "", Epoch{Start: 1, Generation: 2, Leader: "b", Members: []EpochMember{member(v, "b")}})
	owner(t, both, "x", "b")
}

// TestSharedWhileDraining: an owner shares an item of a window because it drains. The drain ends before the share, which is void: items do not move.
func TestSharedWhileDraining(t *testing.T) {
	t.Parallel()
	spec := oneTask(SpreadPartitioned, HandoverAtMostOne)
	spec.Tasks[0].Partitions = []string{"list"}
	v := say(t, group(t, "a", "b"), "", SubmitJob{Job: "x", Spec: spec})
	lister, _ := v.Partition("x#list")
	v = say(t, v, "", AdvanceWindow{Partition: lister.ID, Token: lister.Token, Items: []Item{{Key: "item"}}})
	item, _ := v.Partition("x#item")
	v = say(t, v, "", DrainMember{Member: item.Owner, On: true})
	shares := v.Shares(item.Owner)
	i := slices.IndexFunc(shares, func(s Share) bool { return s.Partition == item.ID })
	if i < 0 {
		t.Fatalf("%s drains, and shares %v", item.Owner, shares)
	}
	moved := say(t, v, "", shares[i])
	if p, _ := moved.Partition(item.ID); p.Next != shares[i].To {
		t.Errorf("%v, which was shared by %v", p, shares[i])
	}
	v = say(t, v, "", DrainMember{Member: item.Owner})
	say(t, v, "void: "+string(item.Owner)+" keeps it", shares[i])
}

// TestLeftSince: an epoch that was made before a member has left does not bring it back.
func TestLeftSince(t *testing.T) {
	t.Parallel()
	v := group(t, "a", "b")
	next := Epoch{Start: 1, Generation: 2, Leader: "a", Members: []EpochMember{member(v, "a"), member(v, "b")}}
	b, _ := v.Member("b")
	v = say(t, v, "", LeaveCluster{Member: "b", Incarnation: b.Incarnation})
	v = say(t, v, "", next)
	if m, ok := v.Member("b"); ok {
		t.Errorf("it is back: %v", m)
	}
}

// TestMergedChild is a child of two parents: both report it, it appears once, and runs when both are finished, on who has least.
func TestMergedChild(t *testing.T) {
	t.Parallel()
	spec := oneTask(SpreadPartitioned, HandoverAtMostOne)
	spec.Tasks[0].Partitions = []string{"p", "q", "r"}
	v := say(t, group(t, "a", "b"), "", SubmitJob{Job: "x", Spec: spec})
	child := []Child{{Key: "m", Parents: []string{"p", "q"}}}
	p, _ := v.Partition("x#p")
	q, _ := v.Partition("x#q")
	v = say(t, v, "", SplitPartition{"x#p", p.Token, child, nil})
	v = say(t, v, "", SplitPartition{"x#q", q.Token, child, nil})
	v = say(t, v, "", FinishPartition{Partition: "x#p", Token: p.Token})
	if m, _ := v.Partition("x#m"); m.State != PartitionBlocked {
		t.Fatalf("%v runs before its parents are finished", m)
	}
	v = say(t, v, "", FinishPartition{Partition: "x#q", Token: q.Token})
	r, _ := v.Partition("x#r")
	if m, _ := v.Partition("x#m"); m.State != PartitionGranted || m.Owner == r.Owner {
		t.Fatalf("%v: who owns %v has more", m, r)
	}
	v = say(t, v, "the token is not its owner's", FinishPartition{Partition: "x#r", Token: r.Token + 1})
	own := Own{Member: r.Owner, Incarnation: 1, Count: 1, Partitions: []Owned{{r.ID, r.Token}}}
	v = say(t, v, "", own)
	own.Partitions[0].Token--
	say(t, v, "it does not own x#r under this token", own)
}

func TestNoPools(t *testing.T) {
	t.Parallel()
	v := group(t, "a")
	v = say(t, v, PoolRefused, SubmitJob{Job: "x", Spec: oneTask(SpreadPool, HandoverAtMostOne)})
	v = say(t, v, "", SubmitJob{Job: "x", Spec: oneTask(SpreadSingle, HandoverAtMostOne)})
	say(t, v, PoolRefused, UpdateJob{Job: "x", Spec: oneTask(SpreadPool, HandoverAtMostOne)})
}

// TestSharesKeepToTheirBounds: no more is in hand-over than the budget allows, and nobody gets more than it has room for, but of Rota's own.
func TestSharesKeepToTheirBounds(t *testing.T) {
	t.Parallel()
	v := group(t, "a")
	for _, job := range []JobID{"x", "y", "rota.own"} {
		v = say(t, v, "", SubmitJob{Job: job, Spec: oneTask(SpreadSingle, HandoverAtMostOne)})
	}
	b := EpochMember{Join: PrepareJoin{Member: "b", Heartbeat: "g/b", Capacity: 1}}
	v = say(t, v, "", Epoch{Start: 1, Generation: 2, Leader: "a", Members: []EpochMember{member(v, "a"), b}})
	v = say(t, v, "", Configure{MoveBudget: 1})
	share := func(id PartitionID) Share { return Share{id, owner(t, v, id, "a").Token, "b"} }
	v = say(t, v, "", share("x"))
	say(t, v, "enough is in hand-over", share("y"))
	v = say(t, v, "", Stopped{"x", owner(t, v, "x", "a").Token})
	say(t, v, "void: b has no room", share("y"))
	say(t, v, "", share("rota.own"))
}

// TestSharesEven: what all owners share brings the plan about.
func TestSharesEven(t *testing.T) {
	t.Parallel()
	spec := oneTask(SpreadPartitioned, HandoverFast)
	for k := 'a'; k < 'a'+12; k++ {
		spec.Tasks[0].Partitions = append(spec.Tasks[0].Partitions, string(k))
	}
	v := say(t, group(t, "a", "b"), "", SubmitJob{Job: "x", Spec: spec})
	v = say(t, v, "", Epoch{Start: 1, Generation: 2, Leader: "a", Members: []EpochMember{member(v, "a"), member(v, "b"), member(v, "c")}})
	if n := len(v.Shares("a")) + len(v.Shares("b")); n != 4 || len(v.Shares("c")) != 0 {
		t.Fatalf("%d shares", n)
	}
	for _, m := range []MemberID{"a", "b"} {
		for _, s := range v.Shares(m) {
			v = say(t, v, "", s)
		}
	}
	for _, m := range []MemberID{"a", "b", "c"} {
		if n := len(slices.Collect(v.OwnedBy(m))); n != 4 || len(v.Shares(m)) != 0 {
			t.Errorf("%s owns %d", m, n)
		}
	}
}
