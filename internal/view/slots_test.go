package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/schedule"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// A task of spread pool is explained as a whole: by its slots, or why it has none.
func TestWhyOfATaskOnSlots(t *testing.T) {
	t.Parallel()
	v := cluster.Value{}
	spec := cluster.JobSpec{Workflow: cluster.Workflow{Scheduler: schedule.TasksGreedy}}
	for _, name := range []string{"read", "write"} {
		spec.Tasks = append(spec.Tasks, cluster.TaskSpec{Name: name, Type: "noop", Spread: cluster.SpreadPool})
	}
	apply := func(c cluster.Command) { v = values.After(t, v, c) }
	check := func(id, state, rule string, slots ...string) {
		t.Helper()
		w, ok := Of(v).Why(cluster.PartitionID(id), nil)
		got := ""
		if w.Reason != nil {
			got = w.Reason.Rule
		}
		if !ok || w.State != state || got != rule || !slices.Equal(w.Slots, slots) || w.Type != "noop" ||
			w.Spread != "pool" {
			t.Errorf("%s: %+v, reason %v", id, w, w.Reason)
		}
	}
	apply(cluster.PrepareJoin{Member: "a", Heartbeat: "p", Slots: 2})
	apply(cluster.SubmitJob{Job: "etl", Spec: spec})
	check("etl/read", "running", "", "a:1", "a:2")
	second, _ := v.Partition("etl/read#a:2")
	ailing := Of(v)
	ailing.runs = map[cluster.PartitionID]failingRun{second.ID: {FailingRun: node.FailingRun{
		Partition: second.ID, Token: second.Token, State: BackingOff, Failures: 2, Message: "refused"}}}
	if w, _ := ailing.Why("etl/read", nil); w.State != BackingOff || w.FailureText() != "failed 2 times, last: refused" {
		t.Errorf("one of two slots backs off: %+v", w.Task)
	}
	check("etl/read#a:1", "running", "")
	check("etl/write", "waiting", "order")
	apply(cluster.FinishPartition{Partition: "etl/read#a:1", Token: 2})
	check("etl/read", "finished", "")
	check("etl/write", "running", "", "a:1")
	if m := Of(v).Members(); m[0].SlotsTaken != 2 || m[0].Slots != 2 {
		t.Errorf("%+v", m[0])
	}
	apply(cluster.SubmitJob{Job: "big", Spec: cluster.JobSpec{
		Tasks:    []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPool, Min: 3}},
		Workflow: cluster.Workflow{Coverage: true},
	}})
	apply(cluster.SubmitJob{Job: "frail",
		Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPool, MaxAttempts: 1}}}})
	if got := Of(v).Status().Problems; len(got) != 1 || got[0].Task != "big" {
		t.Errorf("what waits for a slot to be handed over is a problem: %+v", got)
	}
	for range 2 { // one that was given away stops; then the new job has it, and fails
		for p := range v.Partitions() {
			switch job, _, _ := p.ID.Split(); {
			case p.State == cluster.PartitionReleasing:
				apply(cluster.Stopped{Partition: p.ID, Token: p.Token})
			case job == "frail":
				apply(cluster.FinishPartition{Partition: p.ID, Token: p.Token, Outcome: cluster.OutcomeFailed,
					Message: "no luck"})
			}
		}
	}
	var told []string
	for _, p := range Of(v).Status().Problems {
		told = append(told, p.State+" "+p.Task+" "+p.Text)
	}
	want := []string{"waiting big coverage: it needs 3 slots, 1 of 2 is left to it",
		"failed frail frail#a:2 failed once: no luck"}
	if !slices.Equal(told, want) {
		t.Errorf("problems %q, want %q", told, want)
	}
	apply(cluster.KillJob{Job: "etl"})
	check("etl/write", "killed", "")
	if w, ok := Of(v).Why("etl", nil); !ok || w.Reason == nil || w.Reason.Rule != "killed" || len(w.Tasks) != 2 {
		t.Errorf("got %+v", w)
	}
	if _, ok := Of(v).Why("etl/nothing", nil); ok {
		t.Error("there is no such task")
	}
}

func TestMalformedUntilMended(t *testing.T) {
	t.Parallel()
	var s Status
	s.addMalformed(cluster.Value{}, []journal.Record{
		{Kind: journal.Malformed, Partition: "mended", Message: "bad"},
		{Kind: journal.Malformed, Partition: "broken", Message: "bad"},
		{Kind: journal.Recovered, Partition: "mended"},
		{Kind: journal.Recovered, Partition: "again"},
		{Kind: journal.Malformed, Partition: "again", Message: "bad"},
		{Kind: journal.Malformed, Partition: "tasks", Storage: &journal.Storage{Type: "directory", Path: "./tasks"}},
	})
	var got []string
	for _, p := range s.Problems {
		tries, _, _ := strings.Cut(p.Try, ";")
		got = append(got, p.Task+": "+tries)
	}
	if fmt.Sprint(got) != "[broken: mend the file again: mend the file tasks: mend the directory]" {
		t.Errorf("got %v", got)
	}
}

// The longest gap is that of all moves, and what is too old counts nowhere.
func TestMovesSinceATime(t *testing.T) {
	t.Parallel()
	records := []journal.Record{
		{AtMS: 1000, Kind: journal.Moved, GapMS: new(int64(7))},
		{AtMS: 2000, Kind: journal.Moved, GapMS: new(int64(3))},
		{AtMS: 3000, Kind: journal.Resumed, GapMS: new(int64(5))}, // no move, but nobody worked meanwhile
		{AtMS: 4000, Kind: journal.Moved, Count: 1990},            // as many, summed up
	}
	for ms, want := range map[int64]Moves{1000: {1992, 7}, 1001: {1991, 5}, 2001: {1990, 5}, 3001: {1990, 0}, 4001: {}} {
		if got := movesOf(since(records, time.UnixMilli(ms))); *got != want {
			t.Errorf("since %d: got %+v, want %+v", ms, *got, want)
		}
	}
}

func TestEntryTellsWhatDidNothing(t *testing.T) {
	t.Parallel()
	e := EntryOf(cluster.Value{}, protocol.Applied{Duplicate: true,
		Entry:   cluster.Entry{Index: 7, Writer: "w", Commands: []cluster.Command{cluster.KillJob{Job: "x"}}},
		Results: []cluster.Result{{Reason: "no such job"}},
	})
	if len(e.Commands) != 1 || !e.Duplicate || e.Commands[0].Accepted || e.Commands[0].Reason != "no such job" ||
		!strings.Contains(e.Commands[0].Said, "x") {
		t.Errorf("got %+v", e)
	}
}

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
		{"out", "", 2, 0, []string{"a"}, FlowOpen, "for the end of sum", 0},
		{"out", "", 2, 1, []string{"a"}, FlowOpen, "for the end of sum", 0},
		{"out", "", 2, 3, []string{"a", "b"}, FlowSealing, "", 2},
		{"out", "b", 2, 3, []string{"a", "b"}, FlowSealing, "for b, which seals the output", 1},
		{"out", "c", 2, 3, []string{"a", "b"}, FlowSealing, "for the lease of c to end, which began to seal the output",
			2},
		{"out", "c", 2, 3, nil, FlowSealing,
			"for the lease of c to end, which began to seal the output; for a slot: nobody runs it", 0},
		{"out", "", 2, 3, nil, FlowComplete, "", 0},
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
		task := FlowTask{Task: c.task, From: []string{"x"}, Slots: len(c.members), Complete: c.state == FlowComplete}
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
	graph := flow.Graph{Tasks: []flow.Task{{Name: "in", Chains: 1}, {Name: "out"}},
		Edges: []flow.Edge{{From: "in", To: "out", Shards: 2}}}
	f := &Flow{Unit: UnitMessages}
	depths := map[flow.Shard]store.Depth{
		{Edge: "edge/in/out"}:            {Stored: 5, Pending: 2},
		{Edge: "edge/in/out", Number: 1}: {Stored: 3, Pending: 9, Sealed: true}, // counted a moment later
		{Edge: "chain/in"}:               {Stored: 7, Pending: 1},
	}
	if got := f.task(graph, "out", depths); got.In != 3 || got.Pending != 5 || got.Sealed {
		t.Errorf("got %+v", got)
	}
	if got := f.task(graph, "in", depths); got.In != 0 || got.Pending != 0 || got.Out != 8 {
		t.Errorf("what comes from outside is not counted: %+v", got)
	}
	slots := []cluster.TaskSlots{{Task: "in", Slots: make([]schedule.Slot, 1)}, {Task: "out"}}
	if in, none := slotsOf(slots, "in"), slotsOf(slots, "none"); len(in) != 1 || none != nil {
		t.Errorf("it has the slots %v, and one that is not there %v", in, none)
	}
}
