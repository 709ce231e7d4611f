package replica_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/replica"
)

// says puts an entry of somebody else with a command into the log, and lets the member read it.
func (b *bench) says(c cluster.Command) {
	b.t.Helper()
	n := uint64(len(b.log) + 1)
	b.add(cluster.Entry{Writer: cluster.WriterID(fmt.Sprint("says-", n)), Seq: 1, Commands: []cluster.Command{c}})
	b.step(member.Hinted{Now: b.now})
	b.read()
}

// TestWhoIsOutStops: a member that the value holds for its restart, or that has another start of its name in its place,
// is out.
func TestWhoIsOutStops(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]func(b *bench, m cluster.Member){
		"held": func(b *bench, m cluster.Member) {
			b.says(cluster.LeaveCluster{Member: "m", Incarnation: m.Incarnation, Hold: true})
		},
		"another start": func(b *bench, m cluster.Member) {
			b.says(cluster.PrepareJoin{Member: "m", Heartbeat: "pulse/m/other-0", Replaces: m.Incarnation})
		},
	} {
		b := joinedBench(t)
		b.says(cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
		if len(b.state.Assigned().Grants) != 1 {
			t.Fatalf("%s: it runs %v before: the story is another one", name, b.state.Assigned().Grants)
		}
		m, _ := b.state.Value().Member("m")
		out(b, m)
		if now, _ := b.state.Value().Member("m"); now.Incarnation == m.Incarnation && now.State == m.State {
			t.Fatalf("%s: it is %+v still: the story is another one", name, now)
		}
		if b.state.Is == member.PhaseMember || len(b.state.Assigned().Grants) > 0 {
			t.Errorf("%s: it is in phase %d and runs %v", name, b.state.Is, b.state.Assigned().Grants)
		}
	}
}

// TestAJoinIsAlone: what others ask of a joiner waits until it is in, and its first life is no other one.
func TestAJoinIsAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.step(member.Proposed{Now: b.now, ID: 7, Commands: []cluster.Command{cluster.Configure{Retention: 5}}})
	b.read()
	b.renew()
	join := b.written()
	if c, ok := join.Commands[0].(cluster.PrepareJoin); !ok || len(join.Commands) != 1 || c.Again {
		t.Errorf("it joins by %+v", join.Commands)
	}
	b.read()
	if b.written(); b.replies() != 1 {
		t.Error("what was asked is not answered when it is in")
	}
	b.pass(benchTTL)
	b.step(member.Woken{Now: b.now})
	b.says(cluster.LeaveCluster{Member: "m", Incarnation: b.state.Inc, Died: true})
	b.step(member.Reported{Now: b.now, Version: b.state.Assigned().Version})
	b.renew()
	if c, ok := take[member.Append](b).Entry.Commands[0].(cluster.PrepareJoin); !ok || !c.Again {
		t.Errorf("it joins again by %+v", c)
	}
}

// TestOnlyWhoLivesIsAccepted: a joiner is accepted when its heartbeat was seen, and has not been silent since.
func TestOnlyWhoLivesIsAccepted(t *testing.T) {
	t.Parallel()
	for silent, want := range map[time.Duration]string{-1: "", 0: "accept", benchTTL * 11 / 10: "abort"} {
		b := joinedBench(t)
		b.says(cluster.PrepareJoin{Member: "x", Heartbeat: "pulse/x/n-0"})
		got := ""
		look := func(answers bool) {
			fx := b.fx
			b.fx = nil
			for _, e := range fx {
				switch e := e.(type) {
				case member.Renew:
					b.step(member.Renewed{Now: b.now, Sent: b.now, Key: e.Key, Outcome: outbox.Done})
				case replica.CheckHeartbeat:
					if answers {
						b.step(replica.HeartbeatSeen{Now: b.now, Key: e.Key, Version: "1", TTL: benchTTL})
					}
				case member.Append:
					got += fmt.Sprint(" ", e.Entry.Commands)
				}
			}
		}
		b.state.Log.Out.Busy = silent > 0 // else it would accept at once
		look(silent >= 0)
		for past := time.Duration(0); past < silent; past += benchTTL / 20 {
			b.pass(benchTTL / 20)
			b.step(member.Woken{Now: b.now})
			look(true)
		}
		b.state.Log.Out.Busy = false
		b.step(member.Woken{Now: b.now})
		look(false)
		if strings.Contains(got, "accept") != (want == "accept") || strings.Contains(got, "abort") != (want == "abort") {
			t.Errorf("silent for %s: it writes%s, want %q", silent, got, want)
		}
	}
}
