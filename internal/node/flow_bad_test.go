package node

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/virtual"
	flows "github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

var idleFlows = flag.Int("idle-flows", 100, "flows of TestIdleFlows")

// asked is a handle that counts what flows ask the store for.
type asked struct {
	*memory.Store
	queue, bell atomic.Int64
}

func (c *asked) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	c.queue.Add(1)
	return c.Store.Commit(ctx, flow, units...)
}

func (c *asked) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	c.queue.Add(1)
	return c.Store.Receive(ctx, flow, r)
}

func (c *asked) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	c.queue.Add(1)
	return c.Store.Depth(ctx, flow, shards...)
}

func (c *asked) Get(ctx context.Context, key string) (store.Doc, error) {
	if key == "flow-bell" {
		c.bell.Add(1)
	}
	return c.Store.Get(ctx, key)
}

// idleFlow is a flow of three tasks, one slot each.
func idleFlow() cluster.JobSpec {
	task := func(name, kind, from string) cluster.TaskSpec {
		return cluster.TaskSpec{Name: name, Type: kind, Spread: cluster.SpreadPool, Max: 1,
			Definition: []byte(`{"from":[` + from + `]}`)}
	}
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{task("in", "doorway", ""), task("a", "pass", `{"task":"in"}`),
		task("out", "sink", `{"task":"a"}`)}}
	spec.Edges = []cluster.Edge{{From: "in", To: "a"}, {From: "a", To: "out"}}
	return spec
}

// doorway is a source that has nothing until it is opened, and then one segment.
func doorway(open *atomic.Bool) work.Type {
	return stageType("doorway",
		flows.Input{Read: func(_ context.Context, _ *work.Grant, at []byte, out *flows.Out) ([]byte, bool, error) {
			if !open.Load() {
				return at, false, nil
			}
			_ = out.Send([]byte("x"), nil)
			return []byte("end"), true, nil
		}})
}

// Flows that have nothing to do ask the store for almost nothing: together one document a second, and each less than a
// poll of one document a second.
func TestIdleFlows(t *testing.T) {
	jobs, minute := *idleFlows, 60.0
	virtual.Test(t, func(t *testing.T) {
		server, c := memory.New(), &asked{}
		var open atomic.Bool
		n := start(t, server, "m", func(conf *Config) {
			c.Store = conf.Store.(*memory.Store)
			conf.Store, conf.Slots, conf.Types = c, 3*int64(jobs), flowTypes(&arrivals{seen: map[string]int{}})
			conf.Types["doorway"] = doorway(&open)
		})
		for i := range jobs {
			if res, err := n.Propose(t.Context(), cluster.SubmitJob{Job: cluster.JobID(fmt.Sprint("idle", i)),
				Spec: idleFlow()}); err != nil || !res[0].Accepted {
				t.Fatal(res, err)
			}
		}
		time.Sleep(2 * time.Minute) // waits: in virtual time
		queue, bell := c.queue.Load(), c.bell.Load()
		time.Sleep(time.Minute) // waits: in virtual time
		queue, bell = c.queue.Load()-queue, c.bell.Load()-bell
		t.Logf("%d idle flows of 3 tasks: %.1f reads of the bell a second, and %.2f calls of the queue a second for each flow", jobs, float64(bell)/minute, float64(queue)/minute/float64(jobs))
		if perFlow := float64(queue) / minute / float64(jobs); bell > 61 || bell < 59 || perFlow > 1 {
			t.Errorf("%d reads of the bell in a minute, %.2f calls a second for each flow", bell, perFlow)
		}
	})
}

// A segment that comes after a long time is at the output within seconds, and the job ends, though the tasks are on
// three members.
func TestIdleFlowWakes(t *testing.T) {
	virtual.Seeds(t, 5, func(t *testing.T, seed uint64) {
		f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}},
			chance: rand.New(rand.NewPCG(seed, 0)), calm: true, spec: idleFlow()}
		var open atomic.Bool
		f.types = flowTypes(f.got)
		f.types["doorway"] = doorway(&open)
		for i := range 3 {
			f.member(fmt.Sprint("m", i), 1)
		}
		f.submit("rare")
		time.Sleep(10*time.Minute + time.Duration(f.chance.IntN(3000))*time.Millisecond) // waits: in virtual time
		for _, task := range f.nodes[0].Value().JobSlots("rare") {
			if len(task.Slots) != 1 {
				t.Fatalf("task %s has %d slots, want one: each member has one", task.Task, len(task.Slots))
			}
		}
		began := time.Now()
		open.Store(true)
		f.finish("rare")
		if took := time.Since(began); took > 4*time.Second || f.got.seen["x"] != 1 || f.got.sealed == 0 {
			t.Errorf("it took %v to the end; seen %v, sealed %d times", took, f.got.seen, f.got.sealed)
		}
	})
}

// keyedSources is threeSources with a b that keeps all that comes to it, of two edges, and puts it out at the end.
func keyedSources() cluster.JobSpec {
	spec := threeSources()
	edge := func(from string) string { return fmt.Sprintf(`{"task":%q,"shards":2,"by":"*"}`, from) }
	b := &spec.Tasks[4]
	b.Type, b.Definition = "keep", []byte(`{"from":[`+edge("a")+","+edge("s3")+
		`],"keyed":true,"retry":{"min_ms":10,"max_ms":100}}`)
	return spec
}

// A stage that keeps state, a queue that fails, a member that dies while it works: every segment is in a state once,
// whether the queue commits several inputs as one fact or not.
func TestKeyedUnderFaults(t *testing.T) {
	virtual.Seeds(t, 12, func(t *testing.T, seed uint64) {
		f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}},
			chance: rand.New(rand.NewPCG(seed, 3)), single: seed%2 == 1, spec: keyedSources()}
		f.underFaults()
	})
}
