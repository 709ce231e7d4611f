package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
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

// each is how many segments a source of the test has.
const each = 120

// arrivals is what the output of a flow has seen.
type arrivals struct {
	mu     sync.Mutex
	seen   map[string]int
	sealed int
	late   bool      // something came after the seal
	at     time.Time // of the last segment, and of the seal
	// Whether it is being sealed, and was by two at once.
	sealing, crowd bool
	// How long a batch takes.
	pass, write time.Duration
}

func (a *arrivals) last() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at
}

func (a *arrivals) take(in [][]byte) {
	time.Sleep(a.write) // waits: in virtual time
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = time.Now()
	for _, s := range in {
		if a.seen[string(s)] == 0 && a.sealed > 0 {
			a.late = true
		}
		a.seen[string(s)]++
	}
}

func (a *arrivals) seal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed++
	a.crowd = a.crowd || a.sealing
	a.sealing = true
	a.mu.Unlock()
	time.Sleep(a.write) // waits: in virtual time
	a.mu.Lock()
	a.sealing = false
	a.at = time.Now()
}

func stageType(name string, r work.Runner) work.Type {
	return work.Type{Name: name, New: func(work.Definition) (work.Runner, error) { return r, nil }}
}

// flowTypes are a source of numbered segments, a stage that hands them on, and an output that notes them.
func flowTypes(a *arrivals) work.Types {
	source := flows.Input{Read: func(_ context.Context, g *work.Grant, at []byte, out *flows.Out) ([]byte, bool,
		error) {
		n := len(at)
		for i := n; i < min(n+7, each); i++ {
			_ = out.Send(fmt.Appendf(nil, "%s/%d", g.Task, i), nil)
		}
		return make([]byte, min(n+7, each)), n+7 >= each, nil
	}}
	ahead := source
	ahead.Ahead = 3
	pass := flows.Stage{Do: func(_ context.Context, _ *work.Grant, in [][]byte, out *flows.Out) error {
		time.Sleep(a.pass) // waits: in virtual time
		for _, s := range in {
			_ = out.Send(s, nil)
		}
		return nil
	}}
	sink := flows.Stage{
		Do:   func(_ context.Context, _ *work.Grant, in [][]byte, _ *flows.Out) error { a.take(in); return nil },
		Seal: func(context.Context, *work.Grant) error { a.seal(); return nil },
	}
	keep := flows.Keyed{
		Do: func(_ context.Context, _ *work.Grant, state []byte, in [][]byte, _ *flows.Out) ([]byte, error) {
			for _, s := range in {
				state = append(append(state, s...), ' ')
			}
			return state, nil
		},
		End: func(_ context.Context, _ *work.Grant, state []byte, out *flows.Out) error {
			for _, s := range bytes.Fields(state) {
				_ = out.Send(s, nil)
			}
			return nil
		},
	}
	return work.Types{"keep": stageType("keep", keep), "source": stageType("source", source),
		"ahead": stageType("ahead", ahead), "pass": stageType("pass", pass), "sink": stageType("sink", sink)}
}

// threeSources is three sources, of which two lead to a, and a and the third to b, and b to out.
func threeSources() cluster.JobSpec {
	task := func(name, kind, from string) cluster.TaskSpec {
		return cluster.TaskSpec{Name: name, Type: kind, Spread: cluster.SpreadPool,
			Definition: []byte(`{"from":[` + from + `],"retry":{"min_ms":10,"max_ms":100}}`)}
	}
	edge := func(from string, shards int) string { return fmt.Sprintf(`{"task":%q,"shards":%d}`, from, shards) }
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{
		task("s1", "ahead", ""), task("s2", "source", ""), task("s3", "source", ""),
		task("a", "pass", edge("s1", 2)+","+edge("s2", 3)), task("b", "pass", edge("a", 2)+","+edge("s3", 1)),
		task("out", "sink", `{"task":"b","shards":2,"by":"*"}`),
	}}
	for _, e := range [][2]string{{"s1", "a"}, {"s2", "a"}, {"a", "b"}, {"s3", "b"}, {"b", "out"}} {
		spec.Edges = append(spec.Edges, cluster.Edge{From: e[0], To: e[1]})
	}
	return spec
}

// unreliable is a handle whose queue refuses calls, loses answers, and does things late, by chance.
type unreliable struct {
	*memory.Store
	mu     sync.Mutex
	chance *rand.Rand
	faults int
	single bool // each unit may have one input, as on NATS
}

// refuses is why these units are refused.
func (u *unreliable) refuses(units []store.Unit) error {
	if u.single && slices.ContainsFunc(units, func(unit store.Unit) bool { return len(unit.Inputs) > 1 }) {
		return errors.ErrUnsupported
	}
	return nil
}

func (u *unreliable) fault() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.chance == nil {
		return 40
	}
	n := u.chance.IntN(40)
	if n < 4 {
		u.faults++
	}
	return n
}

// failed is how many calls have failed.
func (u *unreliable) failed() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.faults
}

// rest lets others be first.
func (u *unreliable) rest() {
	u.mu.Lock()
	d := time.Duration(0)
	if u.chance != nil {
		d = time.Duration(u.chance.IntN(30)) * time.Millisecond
	}
	u.mu.Unlock()
	time.Sleep(d) // waits: in virtual time
}

// late is when a delayed call is made.
func (u *unreliable) late() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return time.Duration(u.chance.IntN(90)) * time.Second
}

func (u *unreliable) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	if err := u.refuses(units); err != nil {
		return nil, err
	}
	switch u.fault() {
	case 0:
		return nil, store.ErrUnavailable
	case 1:
		_, _ = u.Store.Commit(ctx, flow, units...)
		return nil, store.ErrUnknown
	case 2:
		time.AfterFunc(u.late(), func() { _, _ = u.Store.Commit(context.Background(), flow, units...) })
		return nil, store.ErrUnknown
	}
	u.rest()
	return u.Store.Commit(ctx, flow, units...)
}

func (u *unreliable) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	switch n := u.fault(); n {
	case 0:
		return nil, store.ErrUnavailable
	case 1:
		_, _ = u.Store.Receive(ctx, flow, r)
		return nil, store.ErrUnavailable
	case 2, 3: // the leases of others have ended early
		all, err := u.Store.Receive(ctx, flow, store.Receive{Shard: r.Shard, Limit: r.Limit, Peek: true})
		return all[n%(len(all)+1):], err
	}
	return u.Store.Receive(ctx, flow, r)
}

func (u *unreliable) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	if u.fault() == 0 {
		return nil, store.ErrUnavailable
	}
	return u.Store.Depth(ctx, flow, shards...)
}

// flowRun is one flow on several members.
type flowRun struct {
	t      *testing.T
	server *memory.Server
	got    *arrivals
	nodes  []*bundle
	stores []*unreliable
	chance *rand.Rand
	calm   bool // nothing fails
	single bool // of the queue
	spec   cluster.JobSpec
	types  work.Types // default: flowTypes
}

func (f *flowRun) member(name string, slots int64) {
	var u *unreliable
	b := start(f.t, f.server, name, func(c *Config) {
		u = &unreliable{Store: c.Store.(*memory.Store), chance: rand.New(rand.NewPCG(f.chance.Uint64(), 1)),
			single: f.single}
		if f.calm {
			u = nil
		} else {
			c.Store = u
		}
		c.Slots, c.Types = slots, f.typesOf()
	})
	f.nodes, f.stores = append(f.nodes, b), append(f.stores, u)
}

func (f *flowRun) typesOf() work.Types {
	if f.types == nil {
		f.types = flowTypes(f.got)
	}
	return f.types
}

func (f *flowRun) submit(job string) {
	f.t.Helper()
	if f.spec.Tasks == nil {
		f.spec = threeSources()
	}
	res, err := f.nodes[0].Propose(f.t.Context(), cluster.SubmitJob{Job: cluster.JobID(job), Spec: f.spec})
	if err != nil || !res[0].Accepted {
		f.t.Fatalf("submit: %v %v", res, err)
	}
}

// finish waits for the end of the job, and says when it was.
func (f *flowRun) finish(job cluster.JobID) time.Time {
	f.t.Helper()
	last := f.nodes[len(f.nodes)-1]
	for end := time.Now().Add(2 * time.Hour); ; time.Sleep(10 * time.Millisecond) { // waits: in virtual time
		j, _ := last.Value().Job(job)
		if j.State == cluster.JobCompleted {
			return time.Now()
		}
		if time.Now().After(end) {
			f.t.Fatalf("the job is %s: %s", j.State, j.Message)
		}
	}
}

// ended waits for the end of the job, and judges it.
func (f *flowRun) ended(job cluster.JobID) {
	f.t.Helper()
	view := f.server.Open()
	defer view.Close()
	f.finish(job)
	last := f.nodes[len(f.nodes)-1]
	time.Sleep(2 * time.Minute) // waits: in virtual time, for what is late
	j, _ := last.Value().Job(job)
	depths, err := view.Depth(f.t.Context(), supervisor.FlowName(&j), store.Shard{Edge: "edge/b/out"},
		store.Shard{Edge: "edge/b/out", Number: 1})
	must.Succeed(f.t, err)
	if n := depths[0].Segments + depths[1].Segments; n != 3*each {
		f.t.Errorf("%d segments went to the output, want %d", n, 3*each)
	}
	f.got.mu.Lock()
	defer f.got.mu.Unlock()
	if len(f.got.seen) != 3*each || f.got.sealed == 0 || f.got.late {
		f.t.Errorf("the output has %d segments, want %d; sealed %d times, late %v", len(f.got.seen), 3*each,
			f.got.sealed, f.got.late)
	}
}

// A flow of three sources, a queue that fails, a member that dies while it works: every segment is at the output, once
// on its edge.
func TestFlowUnderFaults(t *testing.T) {
	virtual.Seeds(t, 6, func(t *testing.T, seed uint64) {
		f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}},
			chance: rand.New(rand.NewPCG(seed, 0))}
		f.underFaults()
		if f.stores[0].failed()+f.stores[2].failed() == 0 {
			t.Error("nothing failed")
		}
	})
}

func (f *flowRun) underFaults() {
	f.t.Helper()
	for i := range 3 {
		f.member(fmt.Sprint("m", i), 4)
	}
	f.submit("count")
	time.Sleep(time.Duration(f.chance.IntN(4000)) * time.Millisecond) // waits: in virtual time, to die at any instant
	f.nodes[1].kill(f.stores[1])
	f.member("m3", 4)
	f.ended("count")
}

// kill takes the store from a node: to the others it is dead.
func (b *bundle) kill(u *unreliable) {
	u.Close()
	b.stop()
	if err := <-b.done; err != nil && !errors.Is(err, store.ErrClosed) {
		b.t.Log("the node that died:", err)
	}
	close(b.done)
}

// From the last segment at the output, and its seal, to the end of the job it takes no second, though those that wait
// look seldom. One of them seals.
func TestEndOfFlow(t *testing.T) {
	virtual.Seeds(t, 8, func(t *testing.T, seed uint64) {
		chance := rand.New(rand.NewPCG(seed, 0))
		slow := func() time.Duration { return time.Duration(chance.IntN(3)*chance.IntN(2000)) * time.Millisecond }
		f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}, pass: slow(), write: slow()},
			chance: chance, calm: true}
		for i := range 3 {
			f.member(fmt.Sprint("m", i), 4)
		}
		f.submit("count")
		took := f.finish("count").Sub(f.got.last())
		t.Logf("a batch takes %v at a stage, %v at the output; %v from the last one to the end", f.got.pass,
			f.got.write, took)
		if took > time.Second || f.got.crowd {
			t.Errorf("it took %v from the last segment to the end of the job; sealed by two at once: %v", took,
				f.got.crowd)
		}
	})
}

// The flow of a job that the cluster has forgotten is dropped, and that of one that it knows is not.
// With one slot its tasks run one after the other, and what one puts out waits for the next, however much it is.
func TestFlowsAreDropped(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}},
			chance: rand.New(rand.NewPCG(1, 0))}
		f.member("m", 1)
		f.submit("old")
		f.ended("old")
		flows := func() (names []string) {
			docs := must.Get(f.stores[0].List(t.Context(), supervisor.FlowPrefix))(t)
			for _, d := range docs {
				names = append(names, d.Key)
			}
			return names
		}
		time.Sleep(5 * time.Minute) // waits: in virtual time
		synctest.Wait()
		kept := flows()
		if len(kept) != 1 {
			t.Fatalf("there are the flows %q", kept)
		}
		f.submitAgain("old")
		await(t, "the flow of the first submission is dropped", func() bool {
			return len(flows()) == 1 && !slices.Equal(flows(), kept)
		})
		view := f.server.Open()
		defer view.Close()
		if _, err := view.Depth(t.Context(), kept[0][len(supervisor.FlowPrefix):]); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the depth of the former flow: %v", err)
		}
	})
}

func (f *flowRun) submitAgain(job cluster.JobID) {
	f.t.Helper()
	j, _ := f.nodes[0].Value().Job(job)
	res, err := f.nodes[0].Propose(f.t.Context(),
		cluster.SubmitJob{Job: job, Spec: threeSources(), Expected: cluster.Expect(j.SpecIndex)})
	if err != nil || !res[0].Accepted {
		f.t.Fatalf("submit again: %v %v", res, err)
	}
}
