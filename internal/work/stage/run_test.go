package stage

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// place is a host with one flow: a leads to b. Its queue takes no output of more than most bytes, if that is not 0.
type place struct {
	work.Host
	*memory.Store
	graph flow.Graph
	most  int
}

func newPlace(t *testing.T) *place {
	p := &place{Store: memory.New().Open(), graph: flow.Graph{Tasks: []flow.Task{{Name: "a", Chains: 1}, {Name: "b"}},
		Edges: []flow.Edge{{From: "a", To: "b", Shards: 1}}}}
	t.Cleanup(func() { p.Close() })
	return p
}

func (p *place) Flow(context.Context, *work.Grant) (supervisor.Flow, error) {
	return supervisor.Flow{Name: "f", Queue: p, Graph: p.graph, Takers: func(string) int { return 1 }}, nil
}

func (p *place) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	for _, u := range units {
		if p.most > 0 && slices.ContainsFunc(u.Outputs,
			func(o store.Put) bool { return len(o.Data) > p.most && o.Shard.Edge != "dead/b" }) {
			return nil, store.ErrTooLarge
		}
	}
	return p.Store.Commit(ctx, flow, units...)
}

// run runs a task for a minute at most, in virtual time.
func (p *place) run(t *testing.T, task string, r work.Runner) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return r.Run(ctx, &work.Grant{Host: p, Job: "j", Task: task, Member: "m", Log: slog.New(slog.DiscardHandler)})
}

// put makes the flow, puts a message of two segments and then more on its edges, and seals the edge to b.
func (p *place) put(t *testing.T, more ...store.Put) {
	t.Helper()
	var all []store.Shard
	for _, s := range p.graph.Shards() {
		all = append(all, store.Shard(s))
	}
	must.Succeed(t, p.MakeFlow(t.Context(), "f", all))
	edge := store.Shard{Edge: "edge/a/b"}
	p.store(t, "put", slices.Concat([]store.Put{
		{Shard: edge, Segments: 2, Data: AppendSegment(AppendSegment(nil, []byte("x")), []byte("y"))},
	}, more, []store.Put{{Shard: edge, Seal: true}})...)
}

// A task whose type does not fit its place in the graph does not run, and says what to change.
func TestWhatDoesNotFitItsPlace(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		input := Input{Read: func(_ context.Context, _ *work.Grant, at []byte, _ *Out) ([]byte, bool, error) {
			return at, true, nil
		}}
		stage := Stage{Do: func(context.Context, *work.Grant, [][]byte, *Out) error { return nil }}
		keyed := Keyed{Do: func(_ context.Context, _ *work.Grant, s []byte, _ [][]byte, _ *Out) ([]byte, error) {
			return s, nil
		}}
		for _, c := range []struct {
			task  string
			keyed bool // b says so
			r     work.Runner
			want  string
		}{{"a", false, stage, "add from:"}, {"b", false, input, "drop from"}, {"b", false, keyed, "add keyed: true"},
			{"b", true, stage, "drop keyed"}} {
			p := newPlace(t)
			p.graph.Tasks[1].Keyed = c.keyed
			if err := p.run(t, c.task, c.r); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%T at %s: %v, want %q", c.r, c.task, err, c.want)
			}
		}
	})
}

// TestAnInputBeginsOnce, however many members run its task.
func TestAnInputBeginsOnce(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := newPlace(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		input := Input{Read: func(_ context.Context, _ *work.Grant, at []byte, out *Out) ([]byte, bool, error) {
			return at, true, out.Send([]byte("x"), nil)
		}}
		for _, m := range []cluster.MemberID{"m", "n"} {
			must.Succeed(t, input.Run(ctx, &work.Grant{Host: p, Job: "j", Task: "a", Member: m,
				Log: slog.New(slog.DiscardHandler)}))
		}
		got, err := p.Receive(t.Context(), "f", store.Receive{Shard: store.Shard{Edge: "edge/a/b"}, Peek: true, Limit: 9})
		if err != nil || len(got) != 1 || got[0].Segments != 1 {
			t.Errorf("the input has put out %+v, %v", got, err)
		}
	})
}

// A task is held back by any edge that leads away and is full, and then its flow is not quiet.
func TestALookAtFullEdges(t *testing.T) {
	t.Parallel()
	for full, want := range map[string]flow.Looked{"": {}, "edge/b/c": {Held: true}, "edge/b/d": {Held: true},
		"edge/b/idle": {}} {
		p := newPlace(t)
		for _, to := range []string{"c", "d", "idle"} {
			p.graph.Tasks, p.graph.Edges = append(p.graph.Tasks, flow.Task{Name: to}),
				append(p.graph.Edges, flow.Edge{From: "b", To: to, Shards: 2})
		}
		p.put(t)
		all, err := p.Receive(t.Context(), "f", store.Receive{Shard: store.Shard{Edge: "edge/a/b"}, Limit: 9,
			Lease: lease})
		must.Succeed(t, err)
		u := store.Unit{Inputs: all}
		for range Bound {
			if full != "" {
				u.Outputs = append(u.Outputs, store.Put{Shard: store.Shard{Edge: full, Number: 1}})
			}
		}
		must.Succeed(t, must.Err(p.Commit(t.Context(), "f", u)))
		f, _ := p.Flow(t.Context(), nil)
		f.Takers = func(task string) int { return len(task) % 4 } // none of idle
		w := &worker{grant: &work.Grant{Task: "b"}, flow: f, in: p.graph.Ingress("b"), out: p.graph.Egress("b"),
			edges: p.graph.Out("b")}
		e, err := w.look(t.Context())
		if got, ok := e.(flow.Looked); err != nil || !ok || got.Held != want.Held ||
			!slices.Equal(got.Drained, []bool{true}) || w.quiet == want.Held {
			t.Errorf("%q is full: %+v, %v, quiet %t", full, e, err, w.quiet)
		}
	}
}

// A batch of a task has a name that no other one has, whichever edge and part it comes by.
func TestBatchNames(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, edge := range []string{"edge/a/c", "edge/b/c", "feed/c"} {
		for i := range 4 {
			m := store.Message{Shard: store.Shard{Edge: edge, Number: i / 2}, Number: uint64(i%2 + 1)} //nolint:gosec // small
			if name := BatchName(named(t.Context(), m)); name == "" || seen[name] {
				t.Errorf("%+v has the name %q", m.Shard, name)
			} else {
				seen[name] = true
			}
		}
	}
}
