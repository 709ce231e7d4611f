package view

import (
	"testing"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/store"
)

// A task of which nothing is left to do says who seals, and what stands in the way.
func TestSealing(t *testing.T) {
	t.Parallel()
	graph := flow.Graph{
		Tasks: []flow.Task{{Name: "in", Chains: 2}, {Name: "sum", Keyed: true}, {Name: "out"}},
		Edges: []flow.Edge{{From: "in", To: "sum", Shards: 2, By: "*"}, {From: "sum", To: "out", Shards: 3}},
	}
	ended := store.Depth{Stored: 1, Sealed: true}
	for _, c := range []struct {
		task, turn   string
		chains, edge int // of sum, and from sum to out, that are sealed
		members      []string
		state, waits string
		sealers      int
	}{
		{"in", "", 0, 0, []string{"a"}, FlowReading, "1 of 2 parts are read to the end", 0},
		{"sum", "", 1, 0, []string{"a"}, FlowDraining, "1 of 2 shards have put out their last state", 0},
		{"sum", "", 2, 1, []string{"a", "b"}, FlowSealing, "1 of 3 shards of the output are sealed", 2},
		{"sum", "", 2, 0, nil, FlowSealing, "0 of 3 shards of the output are sealed; for a slot: nobody runs it", 0},
		{"out", "", 2, 1, []string{"a"}, FlowOpen, "for the end of sum", 0},
		{"out", "", 2, 3, []string{"a", "b"}, FlowSealing, "", 2},
		{"out", "b", 2, 3, []string{"a", "b"}, FlowSealing, "for b, which seals the output", 1},
		{"out", "c", 2, 3, []string{"a", "b"}, FlowSealing, "for the lease of c to end, which began to seal the output", 2},
		{"out", "c", 2, 3, nil, FlowSealing, "for the lease of c to end, which began to seal the output; for a slot: nobody runs it", 0},
	} {
		depths := map[flow.Shard]store.Depth{}
		for i := range 2 {
			depths[flow.Shard{Edge: "edge/in/sum", Number: i}] = ended
			if c.task != "in" || i == 0 {
				depths[flow.Shard{Edge: "chain/in", Number: i}] = ended
			}
			depths[flow.Shard{Edge: "chain/sum", Number: i}] = store.Depth{Stored: 1, Sealed: i < c.chains}
		}
		for i := range c.edge {
			depths[flow.Shard{Edge: "edge/sum/out", Number: i}] = ended
		}
		task := FlowTask{Task: c.task, From: []string{"x"}, Slots: len(c.members)}
		if c.task == "in" {
			task.From = nil
		}
		task.setState(graph, depths, c.members, c.turn)
		if task.State != c.state || task.Waits != c.waits || len(task.Sealers) != c.sealers {
			t.Errorf("%+v\ngot %s, %q, %q", c, task.State, task.Waits, task.Sealers)
		}
	}
}

// What waits is that of all shards, and nothing more comes only where all of them say so.
func TestCountsOfAllShards(t *testing.T) {
	t.Parallel()
	graph := flow.Graph{Tasks: []flow.Task{{Name: "in", Chains: 1}, {Name: "out"}}, Edges: []flow.Edge{{From: "in", To: "out", Shards: 2}}}
	got := (&Flow{Unit: UnitMessages}).task(graph, "out", map[flow.Shard]store.Depth{
		{Edge: "edge/in/out"}: {Stored: 5, Pending: 2}, {Edge: "edge/in/out", Number: 1}: {Stored: 3, Pending: 1, Sealed: true},
	})
	if got.In != 5 || got.Pending != 3 || got.Sealed {
		t.Errorf("got %+v", got)
	}
}
