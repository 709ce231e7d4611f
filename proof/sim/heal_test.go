package sim

import (
	"testing"

	"github.com/rota-run/rota/cluster"
)

// TestBackIsAnotherLife: a member is back when it is joined again, not while it is away, nor as the life that has ended.
func TestBackIsAnotherLife(t *testing.T) {
	t.Parallel()
	w := &world{oracle: &oracle{}}
	say := func(c cluster.Command) {
		v := w.oracle.ref
		w.oracle.ref, _ = v.Apply(cluster.Entry{Index: v.Index() + 1, Writer: "w", Seq: uint64(v.Index()) + 1, Commands: []cluster.Command{c}})
	}
	epoch := func(generation uint64, members ...cluster.EpochMember) {
		say(cluster.Epoch{Start: 1, Generation: generation, Leader: "a", Members: members})
	}
	a := cluster.EpochMember{Join: cluster.PrepareJoin{Member: "a", Heartbeat: "1"}}
	b := cluster.EpochMember{Join: cluster.PrepareJoin{Member: "b", Heartbeat: "2"}}
	epoch(1, a, b)
	was, _ := w.oracle.ref.Member("b")
	if a.Incarnation = 1; w.back(was) {
		t.Error("it has not gone")
	}
	if epoch(2, a); w.back(was) {
		t.Error("it is not in the epoch")
	}
	b.Join.Heartbeat = "3"
	if epoch(3, a, b); !w.back(was) {
		t.Errorf("it is in the epoch: %v", w.oracle.ref)
	}
}

// TestFaultsEndWithTheFaults: a death that a fault has announced is not one when the faults are over. Found by seed 638: it fell into the measure of another member's
// pause, in a cluster of two.
func TestFaultsEndWithTheFaults(t *testing.T) {
	p := &process{w: &world{healing: true}, up: true}
	if p.struck(); !p.up {
		t.Error("a member died of a fault after the faults were over")
	}
}
