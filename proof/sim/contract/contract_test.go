package contract_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/contract"
)

// play folds entries of one writer, each with a command, and judges each.
func play(t *testing.T, entries ...cluster.Command) cluster.Value {
	t.Helper()
	var v cluster.Value
	for i, command := range entries {
		e := entry(i+1, command)
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

func life() []cluster.Command {
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadSingle, MaxAttempts: 1}
	return []cluster.Command{
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{task}}},
		cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
		cluster.PrepareJoin{Member: "b", Heartbeat: "q"},
		cluster.AcceptJoin{Member: "b", Incarnation: 3, By: "a", ByIncarnation: 2},
	}
}

func TestWhatApplyDoesIsRight(t *testing.T) {
	t.Parallel()
	v := play(t, append(life(), cluster.DrainMember{Member: "a", On: true},
		cluster.Stopped{Partition: "j", Token: 2},
		cluster.ConfirmMember{Member: "b", Incarnation: 3, Heartbeat: "r"},
		cluster.LeaveCluster{Member: "a", Incarnation: 2})...)
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
	v := play(t, cluster.Lead{Member: "a", Term: 1}, cluster.PrepareJoin{Member: "a", Heartbeat: "p"})
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

// split is a cluster in which a partition with two children is being done.
func split() []cluster.Command {
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, MaxAttempts: 3, Partitions: []string{"1"}}
	return []cluster.Command{
		cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}},
		cluster.SplitPartition{Partition: "j#1", Token: 2,
			Children: []cluster.Child{{Key: "1a", Parents: []string{"1"}}}},
		cluster.FinishPartition{Partition: "j#1", Token: 2, Outcome: cluster.OutcomeFailed, Message: "no"},
	}
}

// TestFlawsOfWork gives each command what a flawed Apply would have made of it.
func TestFlawsOfWork(t *testing.T) {
	t.Parallel()
	v := play(t, split()...)
	j, _ := v.Job("j")
	other := *j.Spec
	other.Source = "another"
	fewer := *j.Spec
	fewer.Tasks = []cluster.TaskSpec{{Type: "t", Spread: cluster.SpreadPartitioned}}
	accepted := cluster.Applied{Results: []cluster.Result{{Accepted: true}}}
	for _, c := range []struct {
		command cluster.Command
		want    string
	}{
		{cluster.FinishPartition{Partition: "j#1", Token: 2, Outcome: cluster.OutcomeFailed, Attempt: 0},
			"1 failures are counted already"},
		{cluster.SplitPartition{Partition: "j#1", Token: 1}, "under token 2"},
		{cluster.SplitPartition{Partition: "j#1a", Token: 0}, `belongs to ""`},
		{cluster.SubmitJob{Job: "j", By: "j#1", ByToken: 1}, "its token is 2"},
		{cluster.KillJob{Job: "j", By: "j#1", ByToken: 1}, "its token is 2"},
		{cluster.UpdateJob{Job: "j", Spec: other}, `from source ""`},
		{cluster.UpdateJob{Job: "j", Spec: fewer}, "j#1 is there still"},
	} {
		got := contract.Broken(&v, &v, entry(5, c.command), accepted)
		if !strings.Contains(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.command, got, c.want)
		}
	}
}

// TestFlawsOfPlaces shows the contract values that no right Apply leads to, made by swapping what was before and what
// came after.
func TestFlawsOfPlaces(t *testing.T) {
	t.Parallel()
	v := play(t, split()...)
	done := play(t, append(split(),
		cluster.FinishPartition{Partition: "j#1", Token: 2, Outcome: cluster.OutcomeDone})...)
	if p, _ := done.Partition("j#1a"); p.Owner != "a" {
		t.Fatalf("got %v, want the child granted", p)
	}
	if got := contract.Broken(&done, &v, entry(6), cluster.Applied{}); !strings.Contains(got, "j#1a waits though") &&
		!strings.Contains(got, "said nothing") {
		t.Errorf("the child waits again: got %q", got)
	}
}

// window is a cluster in which a partitioner has listed two items, of which one is done.
func window() []cluster.Command {
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}}
	return []cluster.Command{
		cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}},
		cluster.AdvanceWindow{Partition: "j#list", Token: 2, Cursor: []byte("c"),
			Items: []cluster.Item{{Key: "p"}, {Key: "q"}}},
		cluster.FinishPartition{Partition: "j#p", Token: 3},
	}
}

// TestFlawsOfWindows gives a step of a window what a flawed Apply would have made of it.
func TestFlawsOfWindows(t *testing.T) {
	t.Parallel()
	v := play(t, window()...)
	right := cluster.AdvanceWindow{Partition: "j#list", Token: 2, Step: 1, Cursor: []byte("d"), Done: []string{"p"},
		Items: []cluster.Item{{Key: "r"}}}
	after, _ := v.Apply(entry(5, right))
	accepted := cluster.Applied{Results: []cluster.Result{{Accepted: true}}}
	if got := contract.Broken(&v, &after, entry(5, right), accepted); got != "" {
		t.Errorf("what Apply does: got %q", got)
	}
	for _, c := range []struct {
		flaw func(c *cluster.AdvanceWindow)
		want string
	}{
		{func(c *cluster.AdvanceWindow) { c.Token = 1 }, `belongs to "a" under token 2`},
		{func(c *cluster.AdvanceWindow) { c.Step = 0 }, "its step was 1, and is 2"},
		{func(c *cluster.AdvanceWindow) { c.Cursor = nil }, "its step was 1, and is 2"},
		{func(c *cluster.AdvanceWindow) { c.Done = []string{"q"} }, "j#q was partition j#q granted"},
		{func(c *cluster.AdvanceWindow) { c.Done = nil; c.Items = []cluster.Item{{Key: "s"}} },
			"the item s is not there"},
	} {
		command := right
		c.flaw(&command)
		if got := contract.Broken(&v, &after, entry(5, command), accepted); !strings.Contains(got, c.want) {
			t.Errorf("%v: got %q, want %q", command, got, c.want)
		}
	}
	drained := cluster.DrainMember{Member: "x", On: true}
	if got := contract.Broken(&v, &after, entry(5, drained),
		cluster.Applied{Results: make([]cluster.Result, 1)}); !strings.Contains(got, "nobody took it out") {
		t.Errorf("an item is gone: got %q", got)
	}
}

// TestFlawsOfPins shows the contract a cluster in which a newcomer has taken what was pinned.
func TestFlawsOfPins(t *testing.T) {
	t.Parallel()
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, Partitions: []string{"1", "2"}}
	pin := func(budget int64) cluster.Command { return cluster.Configure{MoveBudget: budget} }
	join := cluster.AcceptJoin{Member: "b", Incarnation: 3, By: "a", ByIncarnation: 1}
	begin := func(budget int64) cluster.Value {
		return play(t, cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
			cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}},
			cluster.PrepareJoin{Member: "b", Heartbeat: "q"}, pin(budget))
	}
	pinned, free := begin(cluster.NoMoves), begin(256)
	stays, done := pinned.Apply(entry(5, join))
	if got := contract.Broken(&pinned, &stays, entry(5, join), done); got != "" {
		t.Errorf("what Apply does: got %q", got)
	}
	moves, _ := free.Apply(entry(5, join))
	moves, done = moves.Apply(entry(6, pin(cluster.NoMoves)))
	if got := contract.Broken(&pinned, &moves, entry(5, join), done); !strings.Contains(got,
		"goes from a to b, and is pinned") {
		t.Errorf("a newcomer takes what is pinned: got %q", got)
	}
}
