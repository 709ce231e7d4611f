package cluster

import (
	"fmt"
	"testing"
)

// BenchmarkEpoch applies epochs of 100 members that own 100,000 partitions: one of them is lost, so that its thousand are placed, and then comes back.
func BenchmarkEpoch(b *testing.B) {
	const members, partitions = 100, 100_000
	name := func(i int) MemberID { return MemberID(fmt.Sprintf("m%02d", i)) }
	var v Value
	next := func(c Command) {
		e := Entry{Index: v.Index() + 1, Writer: "w", Seq: uint64(v.Index()) + 1, Commands: []Command{c}}
		after, did := v.Apply(e)
		if !did.Results[0].Accepted {
			b.Fatal(did.Results[0].Reason)
		}
		v = after
	}
	epoch := func(generation uint64, lost int) Epoch {
		e := Epoch{Start: 1, Generation: generation, Leader: name(members - 1)}
		for i := range members {
			if i == lost {
				continue
			}
			m := EpochMember{Join: PrepareJoin{Member: name(i), Heartbeat: "g/" + string(name(i))}}
			if old, ok := v.Member(name(i)); ok {
				m.Incarnation = old.Incarnation
			}
			e.Members = append(e.Members, m)
		}
		return e
	}
	next(epoch(1, -1))
	spec := oneTask(SpreadPartitioned, HandoverAtMostOne)
	for i := range partitions {
		spec.Tasks[0].Partitions = append(spec.Tasks[0].Partitions, fmt.Sprintf("p%06d", i))
	}
	next(SubmitJob{Job: "x", Spec: spec})
	generation := uint64(1)
	for b.Loop() {
		lost := int(generation/2) % (members - 1)
		if generation++; generation%2 == 1 {
			lost = -1
		}
		next(epoch(generation, lost))
	}
	n := 0
	for m := range v.Members() {
		for range v.OwnedBy(m.ID) {
			n++
		}
	}
	if n != partitions {
		b.Fatalf("%d of %d partitions have owners", n, partitions)
	}
}
