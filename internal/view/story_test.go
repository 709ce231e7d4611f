package view

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/journal"
)

// story is a cluster in which something of everything happens, as people see it. The texts in testdata/story are what
// they are told: read them as such. Run with -rewrite to write them again.
type story struct {
	sight Sight
	past  []journal.Record
}

// members are: a, which works; b, which drains; c, which has announced a restart; d, which is silent; e, which has yet
// to be accepted.
func newStory(t *testing.T) *story {
	t.Helper()
	v := values.After(t, cluster.Value{},
		cluster.PrepareJoin{Member: "a", Slots: 3, Weight: 200, Heartbeat: "pulse/a", Address: "http://a:1",
			Version: "v1",
			Labels:  []cluster.Label{{Key: directory.LabelKey("files"), Value: "yes"}, {Key: "zone", Value: "x"}}},
		cluster.SubmitJob{Job: "rota.source.files",
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "rota.source"}}}})
	by, _ := v.Member("a")
	for _, m := range []cluster.MemberID{"b", "c", "d"} {
		v = values.After(t, v, cluster.PrepareJoin{Member: m, Capacity: 9, Heartbeat: "pulse/" + string(m)})
		p, _ := v.Member(m)
		v = values.After(t, v, cluster.AcceptJoin{Member: m, Incarnation: p.Incarnation, By: by.ID,
			ByIncarnation: by.Incarnation})
		by = p
	}
	one := func(t cluster.TaskSpec) cluster.JobSpec {
		t.Type = "check"
		return cluster.JobSpec{Source: "files", Version: "7", Tasks: []cluster.TaskSpec{t}}
	}
	pool := func(name string, lo int64) cluster.TaskSpec {
		return cluster.TaskSpec{Name: name, Type: "work", Spread: cluster.SpreadPool, Min: lo}
	}
	v = values.After(t, v, cluster.SubmitJob{Job: "runs",
		Spec: one(cluster.TaskSpec{Pin: "a", Selector: []cluster.Label{{Key: "zone", Value: "x"}}})},
		cluster.SubmitJob{Job: "fails", Spec: one(cluster.TaskSpec{Pin: "a"})},
		cluster.SubmitJob{Job: "rests", Spec: one(cluster.TaskSpec{Pin: "a"})},
		cluster.SubmitJob{Job: "held", Spec: one(cluster.TaskSpec{Pin: "c"})},
		cluster.SubmitJob{Job: "silent", Spec: one(cluster.TaskSpec{Pin: "d"})},
		cluster.SubmitJob{Job: "nowhere", Spec: one(cluster.TaskSpec{Pin: "z"})},
		cluster.SubmitJob{Job: "moves",
			Spec: one(cluster.TaskSpec{Selector: []cluster.Label{{Key: "role", Value: "b"}}})},
		cluster.SubmitJob{Job: "paused", Spec: one(cluster.TaskSpec{Pin: "a"})},
		cluster.SubmitJob{Job: "parks", Spec: one(cluster.TaskSpec{Pin: "a", MaxAttempts: 2})},
		cluster.SubmitJob{Job: "killed", Spec: one(cluster.TaskSpec{})},
		cluster.SubmitJob{Job: "done", Spec: one(cluster.TaskSpec{Pin: "a"})},
		cluster.SubmitJob{Job: "every", Spec: one(cluster.TaskSpec{Spread: cluster.SpreadEvery})},
		cluster.SubmitJob{Job: "keys",
			Spec: one(cluster.TaskSpec{Pin: "a", Spread: cluster.SpreadPartitioned, Partitions: []string{"p", "q"}})},
		cluster.SubmitJob{Job: "etl", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{pool("map", 1), pool("fold", 0)},
			Workflow: cluster.Workflow{Batch: true, Edges: []cluster.Edge{{From: "map", To: "fold"}}}}},
		cluster.SubmitJob{Job: "starves", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{pool("big", 9)},
			Workflow: cluster.Workflow{Coverage: true}}},
		cluster.PauseJob{Job: "paused", By: "ann"}, cluster.KillJob{Job: "killed"})
	token := func(id cluster.PartitionID) cluster.Token { p, _ := v.Partition(id); return p.Token }
	v = values.After(t, v, cluster.Stopped{Partition: "paused", Token: token("paused")},
		cluster.FinishPartition{Partition: "parks", Token: token("parks"), Outcome: cluster.OutcomeFailed,
			Message: "no route"},
		cluster.FinishPartition{Partition: "parks", Token: token("parks"), Outcome: cluster.OutcomeFailed, Attempt: 1,
			Message: "no host"},
		cluster.FinishPartition{Partition: "done", Token: token("done")},
		cluster.SplitPartition{Partition: "keys#p", Token: token("keys#p"),
			Children: []cluster.Child{{Key: "p1", Parents: []string{"p", "q"}}}},
		cluster.FinishPartition{Partition: "keys#p", Token: token("keys#p")},
		cluster.DrainMember{Member: "b", On: true},
		cluster.PrepareJoin{Member: "e", Heartbeat: "pulse/e"})
	c, _ := v.Member("c")
	v = values.After(t, v, cluster.LeaveCluster{Member: "c", Incarnation: c.Incarnation, Hold: true, Reason: "restart"})
	now := time.UnixMilli(100_000)
	s := Sight{v: v, now: now, runs: make(map[cluster.PartitionID]failingRun), moreFailing: 1,
		beats: map[cluster.MemberID]Heartbeat{
			"a": {State: HeartbeatRenewed, AtMS: 99_000, TTLMS: 10_000, Guardian: "on"},
			"b": {State: HeartbeatPresent, AtMS: 98_000, TTLMS: 40_000, UsualTTLMS: 10_000, Guardian: "no room"},
			"d": {State: HeartbeatSilent, AtMS: 80_000, TTLMS: 10_000, SilentMS: 12_345, Guardian: "not needed"},
		}}
	s.add(node.Failing{Member: "a", AtMS: 99_500, Failing: 1, BackingOff: 1, Runs: []node.FailingRun{
		{Partition: "fails", Token: token("fails"), State: Failing, SinceMS: 60_000, Rounds: 9, Failures: 4,
			Message: "status 500"},
		{Partition: "rests", Token: token("rests"), State: BackingOff, SinceMS: 70_000, Failures: 3, Message: "exit 1"},
	}})
	return &story{s, []journal.Record{
		{Kind: journal.Malformed, Partition: "runs", AtMS: 50_000, Message: "line 3: bad"},
		{Kind: journal.Malformed, Partition: "runs", AtMS: 60_000, Message: "line 4: worse"},
		{Kind: journal.Malformed, Partition: "fails", AtMS: 61_000, Message: "line 1: bad"},
		{Kind: journal.Recovered, Partition: "fails", AtMS: 62_000},
		{Kind: journal.Malformed, Partition: "never", AtMS: 63_000, Message: "line 2: no type"},
		{Kind: journal.Moved, Partition: "gone", AtMS: 64_000, GapMS: new(int64(90))},
		{Kind: journal.Moved, Partition: "runs", AtMS: 65_000, GapMS: new(int64(30))},
	}}
}

func TestStory(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	datadriven.RunTest(t, "testdata/story", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "status":
			st := s.sight.Status()
			st.addMalformed(s.sight.v, s.past)
			st.Moves = movesOf(s.past)
			return text(t, st) + strings.Join(st.Wrong(), "; ") + "\n"
		case "members":
			return text(t, s.sight.Members())
		case "jobs":
			return text(t, s.sight.Jobs(nil))
		case "tasks": // tasks own owner=a state=backing-off
			f := Filter{Own: d.HasArg("own")}
			d.MaybeScanArgs(t, "owner", &f.Owner)
			d.MaybeScanArgs(t, "state", &f.State)
			return text(t, s.sight.Tasks(f))
		case "why":
			id := cluster.PartitionID(d.CmdArgs[0].Key)
			var past []journal.Record
			for _, r := range s.past {
				if r.Partition == string(id) {
					past = append(past, r)
				}
			}
			why, ok := s.sight.Why(id, past)
			if !ok {
				return "unknown\n"
			}
			return text(t, why)
		case "plan": // plan a d: what would come if these went
			var without []cluster.MemberID
			for _, a := range d.CmdArgs {
				without = append(without, cluster.MemberID(a.Key))
			}
			p, err := PlanWithout(s.sight.v, without)
			if err != nil {
				return err.Error() + "\n"
			}
			return text(t, p)
		}
		t.Fatalf("%s: unknown directive %q", d.Pos, d.Cmd)
		return ""
	})
}

// text is JSON as people read it: a line for each thing of a list.
func text(t *testing.T, x any) string {
	t.Helper()
	var b strings.Builder
	if v := reflect.ValueOf(x); v.Kind() == reflect.Slice {
		for i := range v.Len() {
			line := must.Get(json.Marshal(v.Index(i).Interface()))(t)
			fmt.Fprintf(&b, "%s\n", line)
		}
		return b.String()
	}
	all := must.Get(json.MarshalIndent(x, "", "  "))(t)
	return string(all) + "\n"
}
