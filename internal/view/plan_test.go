package view_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/view"
)

// folded is a value that commands are applied to, an entry each.
type folded struct{ v cluster.Value }

func (f *folded) apply(commands ...cluster.Command) {
	f.v, _ = f.v.Apply(values.Entry(f.v, 0, commands...))
}

// join lets a member join: its predecessor in the ring accepts it.
func (f *folded) join(id cluster.MemberID, c cluster.PrepareJoin) {
	c.Member, c.Heartbeat = id, "pulse/"+string(id)
	f.apply(c)
	m, _ := f.v.Member(id)
	for by := range f.v.Members() {
		if f.v.Successor(by.ID) == id && m.State == cluster.MemberPrepared {
			f.apply(cluster.AcceptJoin{Member: id, Incarnation: m.Incarnation, By: by.ID,
				ByIncarnation: by.Incarnation})
		}
	}
}

// obey lets all members do what the value asks of them until nothing is left.
func (f *folded) obey(t *rapid.T) {
	for range 10_000 {
		var done []cluster.Command
		for m := range f.v.Members() {
			for _, d := range f.v.Duties(m.ID) {
				switch d.Role {
				case cluster.RoleStop:
					done = append(done, cluster.Stopped{Partition: d.Partition.ID, Token: d.Token})
				case cluster.RoleAdopt:
					done = append(done, cluster.Started{Partition: d.Partition.ID, Token: d.Token})
				}
			}
		}
		if len(done) == 0 {
			return
		}
		f.apply(done...)
	}
	t.Fatal("the members never come to rest")
}

// drawn is a cluster of any kind.
func drawn(t *rapid.T) *folded {
	f := &folded{}
	f.apply(cluster.Configure{MoveBudget: rapid.Int64Range(1, 5).Draw(t, "budget")})
	members := rapid.IntRange(1, 5).Draw(t, "members")
	for i := range members {
		f.join(cluster.MemberID(fmt.Sprintf("m%d", i)), cluster.PrepareJoin{
			Slots:  rapid.Int64Range(0, 3).Draw(t, "slots"),
			Weight: rapid.SampledFrom([]int64{0, 50, 200}).Draw(t, "weight"),
			Labels: []cluster.Label{{Key: "zone", Value: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "zone")}},
		})
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "jobs") {
		task := cluster.TaskSpec{Type: "noop", Spread: rapid.SampledFrom([]cluster.Spread{0, 1, 2, 3}).Draw(t,
			"spread")}
		switch task.Spread {
		case cluster.SpreadPartitioned:
			task.Partitions = []string{"p", "q", "r"}
		case cluster.SpreadPool:
			task.Max = rapid.Int64Range(0, 3).Draw(t, "max")
		}
		if task.Spread != cluster.SpreadPool {
			task.Handover = rapid.SampledFrom([]cluster.Handover{0, 1, 2}).Draw(t, "handover")
			if rapid.Bool().Draw(t, "selects") {
				task.Selector = []cluster.Label{{Key: "zone", Value: "x"}}
			}
		}
		f.apply(cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("j%d", i)),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}})
	}
	return f
}

// owners are those of the partitions that are not on slots, and how many slots each task has.
func owners(v cluster.Value) (granted map[cluster.PartitionID]string, slots map[string]int) {
	granted, slots = map[cluster.PartitionID]string{}, map[string]int{}
	for p := range v.Partitions() {
		job, task, _ := p.ID.Split()
		switch {
		case p.Slot != 0:
			slots[string(cluster.NewPartitionID(job, task, ""))]++
		case p.State == cluster.PartitionGranted:
			granted[p.ID] = string(p.Owner)
		}
	}
	return granted, slots
}

// count is how many partitions an owner has.
func count(owners map[cluster.PartitionID]string, of string) (n int) {
	for _, owner := range owners {
		if owner == of {
			n++
		}
	}
	return n
}

// A plan says what comes true: all of what moves, ends and waits when the member goes indeed, and nothing else. It
// changes nothing.
func TestPlansComeTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := drawn(rt)
		var ids []cluster.MemberID
		for m := range f.v.Members() {
			ids = append(ids, m.ID)
		}
		gone := rapid.SampledFrom(ids).Draw(rt, "gone")
		before := f.v.Digest()
		plan, err := view.PlanWithout(f.v, []cluster.MemberID{gone})
		if err != nil || f.v.Digest() != before {
			rt.Fatalf("%v, or the plan has changed the value", err)
		}

		f.obey(rt)
		was, hadSlots := owners(f.v)
		m, _ := f.v.Member(gone)
		f.apply(cluster.LeaveCluster{Member: gone, Incarnation: m.Incarnation, Reason: "planned"})
		f.obey(rt)
		now, hasSlots := owners(f.v)

		want := map[cluster.PartitionID]string{} // what becomes of each partition that does not stay
		for id, owner := range was {
			after, runs := now[id]
			switch _, exists := f.v.Partition(id); {
			case !exists:
				want[id] = "ends"
			case !runs:
				want[id] = "waits"
			case after != owner:
				want[id] = owner + " → " + after
			}
		}
		got, ends := map[cluster.PartitionID]string{}, 0
		for _, mv := range plan.Moves {
			got[cluster.PartitionID(mv.Task)] = mv.From + " → " + mv.To
		}
		for _, w := range plan.Waits {
			if w.From != "" {
				got[cluster.PartitionID(w.Task)] = "waits"
			}
			if w.Reason == nil {
				rt.Fatalf("%s would wait without a reason", w.Task)
			}
		}
		for id, what := range want {
			if what == "ends" {
				ends++
			} else if got[id] != what {
				rt.Fatalf("%s: planned %q, and it %s", id, got[id], what)
			}
		}
		if len(got)+ends != len(want) || plan.Ends != ends || plan.Tasks != len(was) {
			rt.Fatalf("planned %v and %d ends of %d; it came to %v of %d", got, plan.Ends, plan.Tasks, want, len(was))
		}
		for _, m := range plan.Members {
			if m.Before != count(was, m.Member) || m.After != count(now, m.Member) {
				rt.Fatalf("planned %+v; it came from %v to %v", m, was, now)
			}
		}
		for _, s := range plan.Slots {
			if hadSlots[s.Task] != s.Before || hasSlots[s.Task] != s.After {
				rt.Fatalf("%+v, and it came from %d to %d", s, hadSlots[s.Task], hasSlots[s.Task])
			}
			delete(hadSlots, s.Task)
			delete(hasSlots, s.Task)
		}
		if fmt.Sprint(hadSlots) != fmt.Sprint(hasSlots) {
			rt.Fatalf("a change of slots was not planned: from %v to %v", hadSlots, hasSlots)
		}
	})
}

// Where a leader decides, a plan is what the leader would do.
func TestAPlanUnderALeader(t *testing.T) {
	t.Parallel()
	f := &folded{}
	f.apply(cluster.Lead{Member: "a", Term: 1, OfferMS: 1000})
	f.join("a", cluster.PrepareJoin{})
	f.join("b", cluster.PrepareJoin{})
	for i := range 4 {
		f.apply(cluster.SubmitJob{Job: cluster.JobID(fmt.Sprint("t", i)),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	}
	for p := range f.v.Partitions() {
		f.apply(cluster.AcceptOffer{Partition: p.ID, Token: p.Token})
	}
	for _, id := range []cluster.MemberID{"a", "b"} {
		p, err := view.PlanWithout(f.v, []cluster.MemberID{id})
		if err != nil || len(p.Moves) != 2 || len(p.Waits) != 0 || p.Tasks != 4 {
			t.Errorf("without %s: %+v, %v", id, p, err)
		}
	}
}

// TestACallSeenFromOutside has neither argument nor result; the call itself keeps them.
func TestACallSeenFromOutside(t *testing.T) {
	t.Parallel()
	c := view.Call{Listed: call.Listed{ID: "1", Record: call.Record{Arg: json.RawMessage(`"secret"`),
		Outcome: &call.Outcome{State: call.Done, Result: json.RawMessage(`"secret"`)}}}}
	data, err := json.Marshal(c.Outside())
	if err != nil || strings.Contains(string(data), "secret") || !strings.Contains(string(data), string(call.Done)) {
		t.Errorf("%s, %v", data, err)
	}
	if string(c.Outcome.Result) != `"secret"` {
		t.Error("the call itself has lost its result")
	}
}

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
	if len(why.NotRunning) != view.MaxNotRunning ||
		!slices.IsSortedFunc(why.NotRunning, func(a, b view.Task) int { return len(a.Task) - len(b.Task) }) ||
		why.NotRunning[0].Task != "x#p01" {
		t.Errorf("without a member: %+v", why.NotRunning)
	}
}
