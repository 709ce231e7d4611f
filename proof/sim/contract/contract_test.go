package contract_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/contract"
)

// play folds entries of one writer, each with some commands, and judges each.
func play(t *testing.T, entries ...[]cluster.Command) cluster.Value {
	t.Helper()
	var v cluster.Value
	for i, commands := range entries {
		e := entry(i+1, commands...)
		next, done := v.Apply(e)
		if why := contract.Broken(&v, &next, e, done); why != "" {
			t.Errorf("entry %d: %s", e.Index, why)
		}
		v = next
	}
	return v
}

func entry(index int, commands ...cluster.Command) cluster.Entry {
	n := uint64(index) //nolint:gosec // a small number
	return cluster.Entry{Index: cluster.Index(n), Writer: "w", Seq: n, Commands: commands}
}

func life() [][]cluster.Command {
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadSingle, MaxAttempts: 1}
	return [][]cluster.Command{
		{cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{task}}}},
		{cluster.PrepareJoin{Member: "a", Heartbeat: "p"}},
		{cluster.PrepareJoin{Member: "b", Heartbeat: "q"}},
		{cluster.AcceptJoin{Member: "b", Incarnation: 3, By: "a", ByIncarnation: 2}},
	}
}

func TestWhatApplyDoesIsRight(t *testing.T) {
	t.Parallel()
	v := play(t, append(life(), []cluster.Command{cluster.DrainMember{Member: "a", On: true}},
		[]cluster.Command{cluster.Stopped{Partition: "j", Token: 2}},
		[]cluster.Command{cluster.ConfirmMember{Member: "b", Incarnation: 3, Heartbeat: "r"}},
		[]cluster.Command{cluster.LeaveCluster{Member: "a", Incarnation: 2}},
	)...)
	if p, _ := v.Partition("j"); p.Owner != "b" {
		t.Errorf("got %+v, want it on b", p)
	}
}

// TestFlaws gives each command what a flawed Apply would have made of it.
func TestFlaws(t *testing.T) {
	t.Parallel()
	v := play(t, life()...)
	accepted := cluster.Applied{Results: []cluster.Result{{Accepted: true}}}
	for _, c := range []struct {
		name    string
		command cluster.Command
		want    string
	}{
		{"a restart over another start", cluster.PrepareJoin{Member: "a", Replaces: 1},
			"incarnation 2 is in the cluster"},
		{"nothing was prepared", cluster.PrepareJoin{Member: "c"}, "not prepared afterwards"},
		{"accepted by a stranger", cluster.AcceptJoin{Member: "b", Incarnation: 3, By: "x", ByIncarnation: 1},
			"who accepts has another incarnation"},
		{"an old incarnation leaves", cluster.LeaveCluster{Member: "a", Incarnation: 1}, "its incarnation is 2"},
		{"it left and is there", cluster.LeaveCluster{Member: "a", Incarnation: 2}, "it is there still"},
		{"confirmed as it was", cluster.ConfirmMember{Member: "a", Incarnation: 2, Heartbeat: "n"},
			"no new incarnation"},
		{"not drained", cluster.DrainMember{Member: "a", On: true}, "not so afterwards"},
		{"stopped under an old token", cluster.Stopped{Partition: "j", Token: 1}, "its token is 2"},
		{"finished under an old token", cluster.FinishPartition{Partition: "j", Token: 1}, "its token is 2"},
	} {
		if got := contract.Broken(&v, &v, entry(5, c.command), accepted); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	next, _ := v.Apply(entry(5, cluster.LeaveCluster{Member: "a", Incarnation: 2}))
	if got := contract.Broken(&v, &next, entry(4), cluster.Applied{}); !strings.Contains(got, "applied twice") {
		t.Errorf("a doubled entry: got %q", got)
	}
	if got := contract.Broken(&v, &next, entry(5), cluster.Applied{}); got != "" {
		t.Errorf("the owner has left: got %q", got)
	}
	if got := contract.Broken(&next, &v, entry(6), cluster.Applied{}); !strings.Contains(got,
		"went from b to a under token") {
		t.Errorf("back under an older token: got %q", got)
	}
}

// TestOnlyTheLeaderDecides: what another writes does nothing, and is found where it does something.
func TestOnlyTheLeaderDecides(t *testing.T) {
	t.Parallel()
	v := play(t, []cluster.Command{cluster.Lead{Member: "a", Term: 1}},
		[]cluster.Command{cluster.PrepareJoin{Member: "a", Heartbeat: "p"}},
	)
	if _, led := v.Leader(); !led {
		t.Fatal("nobody leads")
	}
	e := entry(3, cluster.DrainMember{Member: "a", On: true})
	counted, done := v.Apply(e)
	e.Writer = "x"
	if got := contract.Broken(&v, &counted, e, done); !strings.Contains(got, "though x wrote it and w leads") {
		t.Errorf("it counts: got %q", got)
	}
	refused, done := v.Apply(e)
	if got := contract.Broken(&v, &refused, e, done); got != "" {
		t.Errorf("it does nothing: got %q", got)
	}
}
