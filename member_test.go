package rota_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol/sync"
	"github.com/rota-run/rota/store/memory"
)

// owners is who owns each partition of a job.
func owners(m *rota.Member, job string) map[cluster.PartitionID]cluster.MemberID {
	out := make(map[cluster.PartitionID]cluster.MemberID)
	for p := range m.Value().PartitionsOf(cluster.JobID(job)) {
		if p.State == cluster.PartitionGranted {
			out[p.ID] = p.Owner
		}
	}
	return out
}

// TestRollingRestartMovesNothing: three members leave and come back, one after the other; with Hold each finds its
// tasks again, and without it they move. Where the member does not come back, the others take its tasks when the hold
// is over.
func TestRollingRestartMovesNothing(t *testing.T) {
	const tasks, hold = 300, 30 * time.Second
	for _, hold := range []time.Duration{hold, 0} {
		t.Run(hold.String(), func(t *testing.T) {
			virtual(t, func(t *testing.T, ctx context.Context) {
				s := memory.New()
				typ := rota.NewType("steady",
					func(ctx context.Context, _ *rota.Grant, _ struct{}) error { <-ctx.Done(); return nil })
				members := make(map[string]*rota.Member)
				begin := func(name string) {
					members[name] = joinAs(t, ctx, s, rota.Config{Member: name, Types: []rota.Type{typ}, Hold: hold})
				}
				for _, name := range []string{"a", "b", "c"} {
					begin(name)
				}
				var keys []string
				for i := range tasks {
					keys = append(keys, fmt.Sprint(i))
				}
				must.Succeed(t, members["a"].Submit(ctx, "job",
					rota.Task{Type: "steady", Spread: rota.Partitioned, Partitions: keys}))
				settled := func(by *rota.Member) map[cluster.PartitionID]cluster.MemberID {
					t.Helper()
					for range 600 {
						if got := owners(by, "job"); len(got) == tasks && by.Value().InHandover() == 0 {
							return got
						}
						time.Sleep(100 * time.Millisecond) // waits: in virtual time
					}
					t.Fatalf("%d of %d tasks are owned after a minute", len(owners(by, "job")), tasks)
					return nil
				}
				before := settled(members["a"])
				moves := 0
				for _, name := range []string{"a", "b", "c"} {
					must.Succeed(t, members[name].Leave(ctx))
					time.Sleep(5 * time.Second) // waits: in virtual time, the restart
					begin(name)
					now := settled(members[name])
					for id, owner := range now {
						if before[id] != owner {
							moves++
						}
					}
					before = now
				}
				if hold > 0 && moves != 0 || hold == 0 && moves == 0 {
					t.Errorf("%d moves", moves)
				}
				must.Succeed(t, members["c"].Leave(ctx))
				for hold > 0 && len(owners(members["a"], "job")) == tasks { // it has not heard of it yet
					time.Sleep(time.Millisecond) // waits: in virtual time
				}
				began := time.Now()
				settled(members["a"])
				if took := time.Since(began); hold > 0 && (took < hold-time.Second || took > hold+15*time.Second) ||
					hold == 0 && took > 5*time.Second {
					t.Errorf("the tasks of a member that did not come back were taken after %v", took)
				}
			})
		})
	}
}

// Under sync a pool and a flow are refused when they are submitted, by the member and by a client, and the error says
// what to try.
func TestSyncRefusesPoolsAndFlows(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		work, told := runs("work")
		in := rota.NewInput("in", rota.Input[struct{}, int]{Read: func(context.Context, *rota.Grant, struct{}, []byte,
			*rota.Sender[int]) ([]byte, bool, error) {
			return nil, true, nil
		}})
		out := rota.NewOutput("out",
			rota.Output[struct{}, int]{Write: func(context.Context, *rota.Grant, struct{}, []int) error { return nil }})
		m := joinAs(t, ctx, s, rota.Config{Member: "a", Types: []rota.Type{work, in, out}, Slots: 3,
			Protocol: sync.Protocol{}})
		c, err := rota.Open(s.Open(), rota.ClientOptions{Protocol: sync.Protocol{}})
		must.Succeed(t, err)
		defer c.Close(ctx)
		_, err = m.SubmitFile(ctx, "flow.yaml",
			[]byte("tasks: [{name: in, type: in}, {name: out, type: out, from: in}]"))
		pool := rota.Task{Type: "work", Spread: rota.Pool}
		for what, err := range map[string]error{"a flow": err, "a pool": m.Submit(ctx, "some", pool),
			"a client's pool": c.Submit(ctx, "other", pool)} { // order-free: each alone
			if !errors.Is(err, rota.ErrRefused) || !strings.Contains(err.Error(),
				"no pools of slots: use --protocol replica") {
				t.Errorf("%s: %v", what, err)
			}
		}
		must.Succeed(t, m.Submit(ctx, "one", rota.Task{Type: "work"}))
		expect(t, ctx, told, "start a")
	})
}
