package node

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	flows "github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// swelling is a flow whose stage makes large segments: size says how large, by the number of a segment.
func swelling(t *testing.T, size func(n int) int) *flowRun {
	f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}},
		chance: rand.New(rand.NewPCG(1, 0))}
	task := func(name, kind, from string) cluster.TaskSpec {
		return cluster.TaskSpec{Name: name, Type: kind, Spread: cluster.SpreadPool,
			Definition: []byte(`{"from":[` + from + `],"retry":{"min_ms":10,"max_ms":100}}`)}
	}
	f.spec.Tasks = []cluster.TaskSpec{task("s1", "source", ""), task("b", "swell", `{"task":"s1"}`),
		task("out", "sink", `{"task":"b"}`)}
	f.spec.Edges = []cluster.Edge{{From: "s1", To: "b"}, {From: "b", To: "out"}}
	f.types = flowTypes(f.got)
	f.types["swell"] = stageType("swell",
		flows.Stage{Do: func(_ context.Context, _ *work.Grant, in [][]byte, out *flows.Out) error {
			for _, s := range in {
				var n int
				_, _ = fmt.Sscanf(string(s), "s1/%d", &n)                              // it is so
				_ = out.Send(append(append(s, ' '), bytes.Repeat(s, size(n))...), nil) // its error fails the batch by itself
			}
			return nil
		}})
	f.member("m", 4)
	f.stores[0].chance = nil // the store is sound
	f.submit("bad")
	return f
}

// through is how many segments came through b, and its dead letters.
func (f *flowRun) through() (out uint64, dead []flows.Letter) {
	f.t.Helper()
	view := f.server.Open()
	defer view.Close()
	j, _ := f.nodes[0].Value().Job("bad")
	d, err := view.Depth(f.t.Context(), supervisor.FlowName(&j), store.Shard{Edge: "edge/b/out"})
	must.Succeed(f.t, err)
	all, err := view.Receive(f.t.Context(), supervisor.FlowName(&j),
		store.Receive{Shard: store.Shard{Edge: "dead/b"}, Peek: true, Limit: each})
	must.Succeed(f.t, err)
	for _, m := range all {
		l, err := flows.ReadLetter(m.Data)
		must.Succeed(f.t, err)
		dead = append(dead, l)
	}
	return d[0].Segments, dead
}

// A segment that is larger than a queue takes, and segments that are so together, are dead letters that say so; the
// others go on.
func TestSegmentsThatAreTooLarge(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		f := swelling(t, func(n int) int {
			switch {
			case n == 3:
				return flows.MaxOutput / 3 // times the length of its name
			case n >= 7 && n < 14: // a batch
				return flows.MaxOutput / 20
			}
			return 1
		})
		f.finish("bad")
		out, dead := f.through()
		if out+uint64(len(dead)) != each || len(dead) < 3 {
			t.Errorf("%d segments came through, %d are dead, want %d together", out, len(dead), each)
		}
		alone, together := 0, 0
		for _, l := range dead {
			switch {
			case l.Text == "s1/3" && strings.Contains(l.Error, "one batch puts out more than"):
				alone++
			case strings.Contains(l.Error, "put out more than 917504 bytes together: put it back"):
				together++
			default:
				t.Errorf("a dead letter %+v", l)
			}
		}
		if alone != 1 || together == 0 {
			t.Errorf("%d dead letters of the large segment, %d of those that are large together", alone, together)
		}
	})
}

// What a store does not take, whose limits are too small, is dead letters that say so.
func TestQueueThatTakesTooLittle(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		f := swelling(t, func(n int) int {
			if n >= 14 && n < 28 { // two full batches
				return 1000
			}
			return 1
		})
		f.stores[0].limit(10_000, fmt.Errorf("40000 bytes of output, at most 10000 (the server's max_payload): %w",
			store.ErrTooLarge))
		f.finish("bad")
		out, dead := f.through()
		lost := 0
		for _, l := range dead {
			lost += l.Segments
			if !l.Batch || !strings.Contains(l.Error, "the server's max_payload") {
				t.Errorf("a dead letter %+v", l)
			}
		}
		// How many segments a batch has depends on which of the two sides is faster: seven at most.
		if int(out)+lost != each || lost < 14 || lost > 14+2*6 || len(dead) < 2 {
			t.Fatalf("%d segments came through, %d are lost in %d letters, want %d together, and the 14 large ones lost", out, lost, len(dead), each)
		}
	})
}

// A broker without space is waited for: nothing fails, nothing is lost.
func TestBrokerWithoutSpace(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		f := swelling(t, func(int) int { return 1000 })
		f.stores[0].limit(10_000, fmt.Errorf("%w: no space left for JetStream", store.ErrUnavailable))
		time.Sleep(3 * time.Minute) // waits: in virtual time
		if out, dead := f.through(); out != 0 || len(dead) > 0 {
			t.Errorf("%d segments came through, %d are dead, want none", out, len(dead))
		}
		if f.stores[0].failed() < 10 {
			t.Errorf("the flow has tried %d times", f.stores[0].failed())
		}
		f.stores[0].limit(0, nil)
		f.finish("bad")
		if out, dead := f.through(); out != each || len(dead) > 0 {
			t.Errorf("%d segments came through, %d are dead, want %d and none", out, len(dead), each)
		}
	})
}

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

// mute is a handle through which nobody rings, and nobody hears.
type mute struct{ *memory.Store }

func (m mute) Get(ctx context.Context, key string) (store.Doc, error) {
	if key == "flow-bell" {
		return store.Doc{}, store.ErrUnavailable
	}
	return m.Store.Get(ctx, key)
}

// A ring that fails costs time and nothing else: idle tasks look by themselves within 20 s, as rota job dead-letters
// retry says.
func TestIdleFlowLooksByItself(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}},
			chance: rand.New(rand.NewPCG(1, 0)), calm: true, spec: idleFlow()}
		f.types = flowTypes(f.got)
		n := start(t, f.server, "m", func(c *Config) {
			c.Store, c.Slots, c.Types = mute{c.Store.(*memory.Store)}, 3, f.types
		})
		var open atomic.Bool
		f.types["doorway"] = doorway(&open)
		f.nodes = append(f.nodes, n)
		f.submit("rare")
		time.Sleep(10 * time.Minute) // waits: in virtual time
		j, _ := n.Value().Job("rare")
		began := time.Now()
		putInto(t, f.server.Open(), supervisor.FlowName(&j), store.Shard{Edge: "edge/a/out"})
		await(t, "it is at the output",
			func() bool { f.got.mu.Lock(); defer f.got.mu.Unlock(); return f.got.seen["x"] == 1 })
		if took := time.Since(began); took > 21*time.Second {
			t.Errorf("an idle task has seen it after %v", took)
		}
	})
}

// putInto puts a segment into a flow, as somebody does who is no member.
func putInto(t *testing.T, q *memory.Store, flow string, to store.Shard) {
	t.Helper()
	defer q.Close()
	must.Succeed(t, must.Err(q.Commit(t.Context(), flow,
		store.Unit{Name: "put", Outputs: []store.Put{{Shard: to, Segments: 1,
			Data: flows.AppendSegment(nil, []byte("x"))}}})))
}
