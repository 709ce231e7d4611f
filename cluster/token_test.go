package cluster_test

import (
	"testing"

	"github.com/rota-run/rota/cluster"
)

// TestNoTwoOwnersShareAToken: a member comes back to what was held for it, and the same entry evens some of that away, without a gap. Found by
// simulation: the entry gave its own index as token to both.
func TestNoTwoOwnersShareAToken(t *testing.T) {
	t.Parallel()
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, Handover: cluster.HandoverNoGap, Partitions: []string{"1", "2", "3", "4", "5", "6"}}
	var v cluster.Value
	var seq uint64
	apply := func(commands ...cluster.Command) {
		seq++
		v, _ = v.Apply(cluster.Entry{Index: cluster.Index(seq), Writer: "w", Seq: seq, Commands: commands})
		for p := range v.Partitions() {
			if p.Next != "" && p.NextToken == p.Token {
				t.Errorf("entry %d: %s is granted to %s and moves to %s, both under token %d", seq, p.ID, p.Owner, p.Next, p.Token)
			}
		}
	}
	join := func(m cluster.MemberID) {
		had, _ := v.Member(m)
		apply(cluster.PrepareJoin{Member: m, Replaces: had.Incarnation, Heartbeat: "p"})
		if now, _ := v.Member(m); now.State != cluster.MemberJoined {
			before := map[cluster.MemberID]cluster.MemberID{"b": "a", "c": "a"}[m]
			by, _ := v.Member(before)
			apply(cluster.AcceptJoin{Member: m, Incarnation: now.Incarnation, By: by.ID, ByIncarnation: by.Incarnation})
		}
	}
	settle := func() {
		var started []cluster.Command
		for p := range v.Partitions() {
			if p.State == cluster.PartitionAdopting {
				started = append(started, cluster.Started{Partition: p.ID, Token: p.NextToken})
			}
		}
		apply(started...)
	}
	apply(cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}})
	join("a")
	join("b")
	settle()
	b, _ := v.Member("b")
	apply(cluster.LeaveCluster{Member: "b", Incarnation: b.Incarnation, Hold: true})
	join("c")
	settle()
	join("b")
	owned := map[cluster.MemberID]int{}
	for p := range v.Partitions() {
		owned[p.Owner]++
	}
	if owned["a"] != 2 || owned["b"] != 2 || owned["c"] != 2 {
		t.Errorf("owners have %v, want two each", owned)
	}
}

// TestFastMovesLeaveNobodyBehind: moves that are over at once do not use up the budget for those that it held back. They would wait for the
// next entry that changes something, however long that takes.
func TestFastMovesLeaveNobodyBehind(t *testing.T) {
	t.Parallel()
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, Handover: cluster.HandoverFast, Partitions: []string{"1", "2", "3", "4", "5", "6"}}
	var v cluster.Value
	for i, c := range []cluster.Command{
		cluster.Configure{MoveBudget: 1},
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}},
		cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
		cluster.PrepareJoin{Member: "b", Heartbeat: "q"},
		cluster.AcceptJoin{Member: "b", Incarnation: 4, By: "a", ByIncarnation: 3},
	} {
		n := uint64(i + 1) //nolint:gosec // a small number
		v, _ = v.Apply(cluster.Entry{Index: cluster.Index(n), Writer: "w", Seq: n, Commands: []cluster.Command{c}})
	}
	owned := map[cluster.MemberID]int{}
	for p := range v.Partitions() {
		owned[p.Owner]++
	}
	if owned["a"] != 3 || owned["b"] != 3 {
		t.Errorf("owners have %v, want three each", owned)
	}
}
