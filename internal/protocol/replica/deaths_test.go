package replica_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// Who reports a death says so, so that a task that kills its owners is counted; and who has run such a task for long enough says that too.
func TestADeathIsCountedAndForgiven(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := uint64(0)
	other := func(c cluster.Command) {
		n++
		b.add(cluster.Entry{Writer: "other", Seq: n, Commands: []cluster.Command{c}})
	}
	other(cluster.PrepareJoin{Member: "x", Heartbeat: "pulse/x/1"})
	other(cluster.SubmitJob{Job: "poison", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "t", MaxAttempts: 9}}}})
	b.read()
	b.renew()
	b.written()
	m, _ := b.state.Value().Member("m")
	x, _ := b.state.Value().Member("x")
	other(cluster.AcceptJoin{Member: "m", Incarnation: m.Incarnation, By: "x", ByIncarnation: x.Incarnation})
	b.step(member.Hinted{Now: b.now})
	b.read()
	b.phase(member.PhaseMember)

	check := take[replica.CheckHeartbeat](b)
	b.step(replica.HeartbeatSeen{Now: b.now, Key: check.Key})
	report := b.written()
	if !slices.Contains(report.Commands, cluster.Command(cluster.LeaveCluster{Member: "x", Incarnation: x.Incarnation, Reason: "its heartbeat is gone, for an unknown time", Died: true})) {
		t.Fatalf("it reported %v", report.Commands)
	}
	p, _ := b.state.Value().Partition("poison")
	if p.Owner != "m" || p.Deaths != 1 {
		t.Fatalf("%s", p)
	}
	b.step(member.Reported{Now: b.now, Version: b.state.Assigned().Version, Reports: []protocol.Report{{Partition: p.ID, Token: p.Token}}})
	forgiven := func() bool {
		return slices.ContainsFunc(b.fx, func(e member.Effect) bool {
			a, ok := e.(member.Append)
			return ok && slices.Contains(a.Entry.Commands, cluster.Command(cluster.Started{Partition: p.ID, Token: p.Token}))
		})
	}
	for waited := time.Duration(0); waited < time.Minute; waited += 3 * time.Second {
		if forgiven() {
			t.Fatalf("forgiven after %v", waited)
		}
		b.pass(3 * time.Second)
		b.step(member.Woken{Now: b.now})
		if slices.ContainsFunc(b.fx, func(e member.Effect) bool { _, ok := e.(member.Renew); return ok }) {
			fx := b.fx
			b.renew()
			b.fx = append(b.fx, fx...)
		}
	}
	if !forgiven() {
		t.Fatal("it ran for a minute and is not forgiven")
	}
	b.written()
	if p, _ := b.state.Value().Partition("poison"); p.Deaths != 0 || p.Owner != "m" {
		t.Errorf("%s", p)
	}
}

// An entry that no member has written makes a member whose heartbeat no store can have. It is reported like one that has died, and is no ghost for ever.
func TestAHeartbeatThatNoStoreCanHave(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"no key at all", "a//b", "pulse/somebody/1"} {
		b := newBench(t)
		b.add(cluster.Entry{Writer: "other", Seq: 1, Commands: []cluster.Command{cluster.PrepareJoin{Member: "ghost", Heartbeat: key}}})
		b.read()
		b.renew()
		b.written()
		m, _ := b.state.Value().Member("m")
		b.add(cluster.Entry{Writer: "other", Seq: 2, Commands: []cluster.Command{
			cluster.AcceptJoin{Member: "m", Incarnation: m.Incarnation, By: "ghost", ByIncarnation: 1},
		}})
		b.step(member.Hinted{Now: b.now})
		b.read()
		b.phase(member.PhaseMember)
		check := take[replica.CheckHeartbeat](b)
		st := memory.New().Open()
		c := replica.NewCaller(shell.NewLogCaller(protocol.Config{
			Member: "m", Store: st, TTL: benchTTL, Clock: func() protocol.Instant { return b.now },
		}))
		b.step(c.Call(t.Context(), check))
		report := b.written()
		if !slices.Contains(report.Commands, cluster.Command(cluster.LeaveCluster{Member: "ghost", Incarnation: 1, Reason: "its heartbeat is gone, for an unknown time", Died: true})) {
			t.Errorf("%q: it reported %v", key, report.Commands)
		}
		if _, ok := b.state.Value().Member("ghost"); ok {
			t.Errorf("%q: the ghost is there still", key)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}
