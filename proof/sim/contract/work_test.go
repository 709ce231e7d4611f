package contract_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/contract"
)

// split is a cluster in which a partition with two children is being done.
func split() [][]cluster.Command {
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, MaxAttempts: 3, Partitions: []string{"1"}}
	return [][]cluster.Command{
		{cluster.PrepareJoin{Member: "a", Heartbeat: "p"}},
		{cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}}},
		{cluster.SplitPartition{Partition: "j#1", Token: 2,
			Children: []cluster.Child{{Key: "1a", Parents: []string{"1"}}}}},
		{cluster.FinishPartition{Partition: "j#1", Token: 2, Outcome: cluster.OutcomeFailed, Message: "no"}},
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
		[]cluster.Command{cluster.FinishPartition{Partition: "j#1", Token: 2, Outcome: cluster.OutcomeDone}})...)
	if p, _ := done.Partition("j#1a"); p.Owner != "a" {
		t.Fatalf("got %v, want the child granted", p)
	}
	if got := contract.Broken(&done, &v, entry(6), cluster.Applied{}); !strings.Contains(got, "j#1a waits though") &&
		!strings.Contains(got, "said nothing") {
		t.Errorf("the child waits again: got %q", got)
	}
}

// window is a cluster in which a partitioner has listed two items, of which one is done.
func window() [][]cluster.Command {
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}}
	return [][]cluster.Command{
		{cluster.PrepareJoin{Member: "a", Heartbeat: "p"}},
		{cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}}},
		{cluster.AdvanceWindow{Partition: "j#list", Token: 2, Cursor: []byte("c"),
			Items: []cluster.Item{{Key: "p"}, {Key: "q"}}}},
		{cluster.FinishPartition{Partition: "j#p", Token: 3}},
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
	pin := func(budget int64) []cluster.Command { return []cluster.Command{cluster.Configure{MoveBudget: budget}} }
	join := []cluster.Command{cluster.AcceptJoin{Member: "b", Incarnation: 3, By: "a", ByIncarnation: 1}}
	begin := func(budget int64) cluster.Value {
		return play(t, []cluster.Command{cluster.PrepareJoin{Member: "a", Heartbeat: "p"}},
			[]cluster.Command{cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}}},
			[]cluster.Command{cluster.PrepareJoin{Member: "b", Heartbeat: "q"}}, pin(budget))
	}
	pinned, free := begin(cluster.NoMoves), begin(256)
	stays, done := pinned.Apply(entry(5, join...))
	if got := contract.Broken(&pinned, &stays, entry(5, join...), done); got != "" {
		t.Errorf("what Apply does: got %q", got)
	}
	moves, _ := free.Apply(entry(5, join...))
	moves, done = moves.Apply(entry(6, pin(cluster.NoMoves)...))
	if got := contract.Broken(&pinned, &moves, entry(5, join...), done); !strings.Contains(got,
		"goes from a to b, and is pinned") {
		t.Errorf("a newcomer takes what is pinned: got %q", got)
	}
}
