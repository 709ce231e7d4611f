package sim

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
)

// TestUnshared: after a join its owner has to share, until it has.
func TestUnshared(t *testing.T) {
	t.Parallel()
	var v cluster.Value
	say := func(c cluster.Command) {
		next, done := v.Apply(cluster.Entry{Index: v.Index() + 1, Writer: "w", Seq: uint64(v.Index()) + 1, Commands: []cluster.Command{c}})
		if !done.Results[0].Accepted {
			t.Fatalf("%v: %s", c, done.Results[0].Reason)
		}
		v = next
	}
	a := cluster.EpochMember{Join: cluster.PrepareJoin{Member: "a", Heartbeat: "1"}}
	say(cluster.Epoch{Start: 1, Generation: 1, Leader: "a", Members: []cluster.EpochMember{a}})
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, Handover: cluster.HandoverFast, Partitions: []string{"0", "1"}}
	say(cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{task}}})
	if got := unshared(&v); got != "" {
		t.Errorf("alone: %s", got)
	}
	a.Incarnation = 1
	b := cluster.EpochMember{Join: cluster.PrepareJoin{Member: "b", Heartbeat: "2"}}
	say(cluster.Epoch{Start: 1, Generation: 2, Leader: "a", Members: []cluster.EpochMember{a, b}})
	if got := unshared(&v); !strings.HasPrefix(got, "a has yet to share j#") {
		t.Errorf("after a join: %q", got)
	}
	say(v.Shares("a")[0])
	if got := unshared(&v); got != "" {
		t.Errorf("it has shared: %s", got)
	}
}
