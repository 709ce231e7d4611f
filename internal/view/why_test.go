package view_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
)

// TestWhyOfManyPartitions: the first of what does not run is listed, up to a bound, and all are counted.
func TestWhyOfManyPartitions(t *testing.T) {
	t.Parallel()
	task := cluster.TaskSpec{Type: "noop", Spread: cluster.SpreadPartitioned}
	for i := range 15 {
		task.Partitions = append(task.Partitions, fmt.Sprintf("p%02d", i))
	}
	f := &folded{}
	f.join("a", cluster.PrepareJoin{})
	f.apply(cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}})
	first, _ := f.v.Partition("x#p00")
	f.apply(cluster.FinishPartition{Partition: "x#p00", Token: first.Token})
	running, _ := view.Of(f.v).Why("x", nil)
	if len(running.NotRunning) != 0 || running.Partitions == nil || running.Partitions.Total != len(task.Partitions) {
		t.Errorf("while they run: %+v", running)
	}
	a, _ := f.v.Member("a")
	f.apply(cluster.LeaveCluster{Member: "a", Incarnation: a.Incarnation})
	why, _ := view.Of(f.v).Why("x", nil)
	if len(why.NotRunning) != view.MaxNotRunning || !slices.IsSortedFunc(why.NotRunning, func(a, b view.Task) int { return len(a.Task) - len(b.Task) }) ||
		why.NotRunning[0].Task != "x#p01" {
		t.Errorf("without a member: %+v", why.NotRunning)
	}
}
