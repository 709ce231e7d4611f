package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// claimed is a value of two members, a and b, in a cluster where members claim, with single tasks.
func claimed(t *testing.T, jobs ...JobID) Value {
	t.Helper()
	v := Assemble(Parts{Index: 2, Settings: Settings{Placement: PlacementClaimed}, Members: []Member{
		{ID: "a", Incarnation: 1, State: MemberJoined, Heartbeat: "node/a"},
		{ID: "b", Incarnation: 2, State: MemberJoined, Heartbeat: "node/b"},
	}})
	for i, id := range jobs {
		var r Result
		if v, r = v.Do(Index(i+1), 0,
			SubmitJob{Job: id, Spec: JobSpec{Tasks: []TaskSpec{{Type: "noop"}}}}); !r.Accepted {
			t.Fatal(r.Reason)
		}
	}
	return v
}

// partsOf takes a value apart.
func partsOf(v Value) Parts {
	parts := Parts{Index: v.Index(), Settings: v.settings}
	for m := range v.Members() {
		parts.Members = append(parts.Members, m)
	}
	for j := range v.Jobs() {
		parts.Jobs = append(parts.Jobs, j)
	}
	for p := range v.Partitions() {
		m, _ := v.Member(p.Owner)
		parts.Partitions = append(parts.Partitions, Part{Partition: p, By: m.Incarnation})
	}
	return parts
}

func TestClaim(t *testing.T) {
	t.Parallel()
	v, free := claimed(t, "x").Settle(9, 0, Pending{})
	if len(free) != 1 || free[0] != (Free{"x", "a"}) {
		t.Fatalf("free: %v", free)
	}
	if r := v.Why("x"); r.Rule != "claim" || r.Text != "free: nobody has claimed it; a may first" {
		t.Errorf("why: %+v", r)
	}
	before := []Free{{"x", "b"}, {"y", "a"}} // the plan is the other way round, and leaves the choice
	if _, after := claimed(t, "x", "y").Settle(9, 0, Pending{Free: before}); !slices.Equal(after, before) {
		t.Errorf("%v was free, and then %v", before, after)
	}
	for _, c := range []struct {
		at    Index
		claim Claim
		why   string
	}{
		{5, Claim{"x", 4, "a", 1}, "it was claimed since"},
		{0, Claim{"x", 0, "a", 1}, "it was claimed since"},
		{5, Claim{"x", 0, "a", 2}, "who claims is not a joined member"},
		{5, Claim{"y", 0, "a", 1}, "no such partition"},
		{5, Claim{"x", 0, "b", 2}, ""}, // whoever may first, the others may too
	} {
		after, r := v.Do(c.at, 0, c.claim)
		if r.Reason != c.why || len(Changes(v, after)) > 0 != (c.why == "") {
			t.Errorf("%v: %+v, want %q", c.claim, r, c.why)
		}
		if p, _ := after.Partition("x"); c.why == "" && (p.Owner != "b" || p.Token != 5) {
			t.Errorf("claimed: %v", p)
		}
	}
	parts := partsOf(v)
	parts.Members[0].Draining = true
	if _, r := Assemble(parts).Do(5, 0, Claim{"x", 0, "a", 1}); r.Reason != "who claims is draining" {
		t.Errorf("a draining member claims: %+v", r)
	}
	parts = partsOf(v)
	parts.Partitions[0].Token = 3 // somebody had it
	if _, r := Assemble(parts).Do(5, 0, Claim{"x", 2, "a", 1}); r.Reason != "it was claimed since" {
		t.Errorf("a claim under the token before: %+v", r)
	}
}

// TestWhatNobodyHasClaimedGoesAtOnce: an offer that is no longer wanted goes at once; an owner stops first.
func TestWhatNobodyHasClaimedGoesAtOnce(t *testing.T) {
	t.Parallel()
	every := JobSpec{Tasks: []TaskSpec{{Type: "noop", Spread: SpreadEvery}}}
	v, _ := claimed(t).Do(3, 0, SubmitJob{Job: "e", Spec: every})
	v, _ = v.Settle(9, 0, Pending{})
	p, _ := v.Partition("e#a")
	if r := v.Why(p.ID); r.Rule != "claim" || r.Text != "free: nobody has claimed it; a may alone" {
		t.Errorf("why: %+v", r)
	}
	v, r := v.Do(p.Token+1, 0, Claim{p.ID, p.Token, "a", 1})
	if other, ok := v.Partition("e#b"); !r.Accepted || !ok || !other.Offered {
		t.Fatalf("%+v, of %v", r, v)
	}
	v, _ = v.Do(p.Token+2, 0, KillJob{Job: "e"})
	v, _ = v.Settle(p.Token+3, 0, Pending{})
	if p, ok := v.Partition("e#a"); !ok || p.State != PartitionReleasing || !p.Dropped {
		t.Errorf("what was claimed: %v, %t", p, ok)
	}
	if p, ok := v.Partition("e#b"); ok {
		t.Errorf("what was offered stays: %v", p)
	}
}

// TestSharesOfAPool: each has another index, of as many as there are.
func TestSharesOfAPool(t *testing.T) {
	t.Parallel()
	for want, indexes := range map[bool][][]int64{true: {{0, 1}, {1, 0}}, false: {{0, 0}, {0}, {0, 1, 1}}} {
		for _, all := range indexes {
			var held []*partitionRecord
			for _, i := range all {
				held = append(held, &partitionRecord{Partition: Partition{Index: i, Count: 2}})
			}
			if sameShares(held) != want {
				t.Errorf("the shares %v of 2 are all: %t", all, !want)
			}
		}
	}
}

// What a member has split stays when the records are settled: the spec does not name it, its parents do.
func TestChildrenStayWhenSettled(t *testing.T) {
	t.Parallel()
	spec := JobSpec{Tasks: []TaskSpec{{Type: "noop", Spread: SpreadPartitioned, Partitions: []string{"p"}}}}
	v, _ := claimed(t).Do(3, 0, SubmitJob{Job: "x", Spec: spec})
	said := []Command{SplitPartition{Partition: "x#p", Token: 3, Children: []Child{{"c", []string{"p"}}}}}
	for at := Index(9); at < 11; at++ {
		v, _ = v.Settle(at, 0, Pending{Said: said})
		said = nil
	}
	if c, ok := v.Partition("x#c"); !ok || c.State != PartitionBlocked {
		t.Errorf("the child: %v, %t", c, ok)
	}
}

// TestSlotsOfTheDraining: the documents of slots do not change when their member drains, so that the plan must take
// them. What is left would wait for its member for ever, which may claim nothing.
func TestSlotsOfTheDraining(t *testing.T) {
	t.Parallel()
	for _, offered := range []bool{true, false} {
		parts := partsOf(claimed(t))
		parts.Members[0].Slots, parts.Members[1].Slots = 1, 1
		v, _ := Assemble(parts).Do(3, 0,
			SubmitJob{Job: "pool", Spec: JobSpec{Tasks: []TaskSpec{{Name: "t", Type: "noop", Spread: SpreadPool, Min: 1,
				Max: 1}}}})
		v, free := v.Settle(9, 0, Pending{})
		if len(free) != 1 {
			t.Fatalf("free: %v", free)
		}
		id, m := free[0].Partition, free[0].First
		p, _ := v.Partition(id)
		if !offered {
			member, _ := v.Member(m)
			v, _ = v.Do(p.Token+1, 0, Claim{id, p.Token, m, member.Incarnation})
		}
		parts = partsOf(v)
		for i := range parts.Members {
			parts.Members[i].Draining = parts.Members[i].ID == m
		}
		v, free = Assemble(parts).Settle(9, 0, Pending{})
		if len(free) != 0 {
			t.Errorf("offered %t: free before the documents show that the slot is gone: %v", offered, free)
		}
		p, there := v.Partition(id)
		if there == offered || there && (p.State != PartitionReleasing || !p.Dropped) {
			t.Fatalf("offered %t: still there: %v", offered, p)
		}
		if there {
			v, _ = v.Do(p.Token, 0, Stopped{id, p.Token})
		}
		if v, free = Assemble(partsOf(v)).Settle(9, 0, Pending{}); len(free) != 1 || free[0].First == m {
			t.Errorf("offered %t: then free: %v\n%v", offered, free, v)
		}
	}
}

// TestDoubledSlot: documents that were made one by one may give a slot to two partitions. Whoever has claimed it keeps
// it, and the other one goes: nobody would ever claim it.
func TestDoubledSlot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claimed []PartitionID
		want    PartitionID
	}{{nil, "x/s#a:1"}, {[]PartitionID{"x/s#a:1"}, "x/s#a:1"}, {[]PartitionID{"x/t#a:1"}, "x/t#a:1"},
		{[]PartitionID{"x/s#a:1", "x/t#a:1"}, "x/s#a:1"}} {
		parts := partsOf(claimed(t))
		parts.Members = parts.Members[:1]
		parts.Members[0].Slots = 1
		task := func(name string) TaskSpec { return TaskSpec{Name: name, Type: "noop", Spread: SpreadPool, Max: 1} }
		v, r := Assemble(parts).Do(3, 0, SubmitJob{Job: "x", Spec: JobSpec{Tasks: []TaskSpec{task("s"), task("t")}}})
		if !r.Accepted {
			t.Fatal(r.Reason)
		}
		parts = partsOf(v)
		for _, id := range []PartitionID{"x/s#a:1", "x/t#a:1"} {
			p := Part{Partition: Partition{ID: id, Slot: 1, Token: 1, Owner: "a", State: PartitionGranted,
				Offered: true}, By: 1}
			if slices.Contains(c.claimed, id) {
				p.Token, p.Offered = 2, false
			}
			parts.Partitions = append(parts.Partitions, p)
		}
		v, _ = Assemble(parts).Settle(9, 0, Pending{})
		for p := range v.Partitions() {
			if p.State == PartitionReleasing { // both were claimed: one must stop
				v, _ = v.Do(p.Token, 0, Stopped{p.ID, p.Token})
			}
		}
		v, _ = Assemble(partsOf(v)).Settle(9, 0, Pending{})
		var left []PartitionID
		for p := range v.Partitions() {
			left = append(left, p.ID)
		}
		if len(left) != 1 || left[0] != c.want {
			t.Errorf("claimed %q: left %q, want %q", c.claimed, left, c.want)
		}
	}
}

// TestAssembleFreesWhatTheDeadHeld: what another incarnation has claimed is free, and its token stays.
func TestAssembleFreesWhatTheDeadHeld(t *testing.T) {
	t.Parallel()
	v, _ := claimed(t, "x").Settle(9, 0, Pending{})
	v, _ = v.Do(5, 0, Claim{"x", 0, "a", 1})
	parts := partsOf(v)
	if same := Assemble(parts); same.Digest() != v.Digest() || len(Changes(v, same)) > 0 {
		t.Errorf("put together again it is another value:\n%v%v", v, same)
	}
	parts.Members[0].Incarnation = 8
	if p, _ := Assemble(parts).Partition("x"); p.State != PartitionWaiting || p.Owner != "" || p.From != "a" ||
		p.Token != 5 {
		t.Errorf("after a restart: %v", p)
	}
	parts.Members[0].Incarnation, parts.Members[0].State = 1, MemberHeld
	if p, _ := Assemble(parts).Partition("x"); p.State != PartitionHeld || p.Owner != "a" {
		t.Errorf("after an announced restart: %v", p)
	}
	parts.Members[0].Incarnation = 8 // it claimed nothing yet when it announced its restart
	gone := &parts.Partitions[0]
	gone.State, gone.NextToken = PartitionReleasing, 7 // it was running a former partition of this name
	if p, _ := Assemble(parts).Partition("x"); p.State != PartitionWaiting || p.Owner != "" || p.NextToken != 0 {
		t.Errorf("after a restart and another that was announced: %v", p)
	}
	parts.Members[0].Incarnation, parts.Members[0].State, gone.Next = 1, MemberJoined, "c"
	if p, _ := Assemble(parts).Partition("x"); p.Owner != "a" || p.Next != "" {
		t.Errorf("on its way to a member that is gone: %v", p)
	}
}

// TestSettleComesToRest: to settle again changes nothing, and what one owner has too much of is released, not given
// away.
func TestSettleComesToRest(t *testing.T) {
	t.Parallel()
	v, _ := claimed(t, "w", "x", "y", "z").Settle(9, 0, Pending{})
	for _, id := range []PartitionID{"w", "x", "y", "z"} {
		v, _ = v.Do(5, 0, Claim{id, 0, "a", 1})
	}
	v, free := v.Settle(9, 0, Pending{})
	releasing := 0
	for p := range v.Partitions() {
		if p.State == PartitionReleasing && p.Owner == "a" && p.Next == "b" {
			releasing++
		}
	}
	if releasing != 2 || len(free) != 0 {
		t.Fatalf("%d are released, free: %v\n%v", releasing, free, v)
	}
	again, _ := v.Settle(9, 0, Pending{})
	if len(Changes(v, again)) > 0 {
		t.Errorf("once more:\n%v", again)
	}
	more, _ := claimed(t, "r", "s", "t", "u", "w", "x", "y", "z").Settle(9, 0, Pending{})
	more.settings.MoveBudget = 3
	for _, id := range []PartitionID{"r", "s", "t", "u", "w", "x", "y", "z"} {
		more, _ = more.Do(5, 0, Claim{id, 0, "a", 1})
	}
	for range 2 { // the second round counts what the first began
		more, _ = more.Settle(9, 0, Pending{})
	}
	if more.derived.moving != 3 {
		t.Errorf("%d move, by a budget of 3", more.derived.moving)
	}
	for p := range v.Partitions() {
		if p.State == PartitionReleasing {
			v, _ = v.Do(p.Token, 0, Stopped{p.ID, p.Token})
		}
	}
	if _, free = v.Settle(9, 0, Pending{}); len(free) != 2 || free[0].First != "b" || free[1].First != "b" {
		t.Errorf("free: %v", free)
	}
}

// TestRecordsAlone: records and commands that are kept alone are read as they were written, and nothing else is.
func TestRecordsAlone(t *testing.T) {
	t.Parallel()
	c := Claim{"x#y", 7, "a", 3}
	b := EncodeCommand(c)
	if got, err := DecodeCommand(b); err != nil || got != Command(c) {
		t.Errorf("%v, %v", got, err)
	}
	p := Partition{ID: "x", State: PartitionGranted, Owner: "a", Token: 9}
	if got, err := DecodePartition(p.Encode()); err != nil || !bytes.Equal(got.Encode(), p.Encode()) {
		t.Errorf("%v, %v", got, err)
	}
	_, err := DecodePartition(b)
	mustSay(t, err, "it is a record of kind 7, not 3")
	for _, bad := range [][]byte{nil, {1}, b, p.Encode()[:5], append(p.Encode(), 0)} {
		if got, err := DecodePartition(bad); err == nil {
			t.Errorf("%x is %v", bad, got)
		}
	}
	other := p.Encode()
	for _, format := range []byte{byte(Format) - 1, byte(Format) + 1} {
		other[1] = format
		var want *FormatError
		if _, err := DecodePartition(other); !errors.As(err, &want) {
			t.Errorf("format %d: %v", format, err)
		}
	}
}

// What a member still has to stop is left out with the member, also by a value that is made from what has changed.
func TestReassembleLeavesOut(t *testing.T) {
	t.Parallel()
	parts := partsOf(claimed(t))
	dropped := Part{Partition: Partition{ID: "x", Owner: "a", Token: 3, State: PartitionReleasing, Dropped: true},
		By: 1}
	with := parts
	with.Partitions = []Part{dropped}
	v := Assemble(with)
	if _, ok := v.Partition("x"); !ok {
		t.Fatal("nobody stops it")
	}
	dropped.By = 9 // of another incarnation
	if got, want := fmt.Sprint(dump(v.Reassemble([]Part{dropped}, nil))),
		fmt.Sprint(dump(Assemble(parts))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Under claims a member that left last takes no hold away: whoever is back claims what it had.
func TestTheLastLeaveKeepsHolds(t *testing.T) {
	t.Parallel()
	v := Assemble(Parts{Index: 9, Settings: Settings{Placement: PlacementClaimed}, Members: []Member{
		{ID: "a", Incarnation: 1, State: MemberJoined, Heartbeat: "node/a"},
		{ID: "b", Incarnation: 2, State: MemberHeld, Heartbeat: "node/b"},
	}})
	v, r := v.Do(10, 0, LeaveCluster{Member: "a", Incarnation: 1})
	if b, ok := v.Member("b"); !r.Accepted || !ok || b.State != MemberHeld {
		t.Errorf("%+v, %v", b, r)
	}
}
