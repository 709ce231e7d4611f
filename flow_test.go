package rota_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// gate lets through once it is open.
type gate struct{ opened atomic.Bool }

func (g *gate) pass(ctx context.Context) error {
	for !g.opened.Load() {
		select {
		case <-time.After(10 * time.Millisecond): // waits: in virtual time
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// sealers are members of a flow with one input and one output, whose seal waits at a gate.
type sealers struct {
	t      *testing.T
	server *memory.Server
	seal   gate
	sealed atomic.Int64 // how often it was sealed
}

// joins starts a member. What is returned is as the death of its process.
func (s *sealers) joins(ctx context.Context, name string) (m *rota.Member, dies func()) {
	s.t.Helper()
	type none struct{}
	h := s.server.Open()
	m, err := rota.Join(ctx, rota.Config{Member: name, Slots: 1, Store: h, Clock: protocol.NewProcessClock(),
		Types: []rota.Type{
			rota.NewInput("in", rota.Input[none, string]{
				Read: func(_ context.Context, _ *rota.Grant, _ none, _ []byte, out *rota.Sender[string]) ([]byte, bool,
					error) {
					return []byte("x"), true, out.Send("x")
				},
			}),
			rota.NewOutput("out", rota.Output[none, string]{
				Write: func(context.Context, *rota.Grant, none, []string) error { return nil },
				Seal: func(ctx context.Context, _ *rota.Grant, _ none) error {
					err := s.seal.pass(ctx)
					if err == nil {
						s.sealed.Add(1)
					}
					return err
				},
			}),
		}})
	must.Succeed(s.t, err)
	s.t.Cleanup(func() { _ = m.Leave(context.WithoutCancel(ctx)) }) // one whose store was closed cannot leave in order
	return m, func() { must.Succeed(s.t, h.Close()); <-m.Done() }
}

// until waits until one member seals the output, as another one sees it.
func (s *sealers) until(by *rota.Member, sealer string) {
	s.t.Helper()
	q := s.server.Open()
	defer q.Close()
	for range 12_000 {
		f, err := view.FlowOf(s.t.Context(), q, by.Value(), "end")
		must.Succeed(s.t, err)
		if f != nil && slices.Equal(f.Tasks[1].Sealers, []string{sealer}) && f.Tasks[1].Waits == "for "+sealer+
			", which seals the output" {
			return
		}
		time.Sleep(10 * time.Millisecond) // waits: in virtual time
	}
	s.t.Fatalf("%s never seals", sealer)
}

// TestSealingStories are those of the source document on the coordinator in which a peer propagates the end of a
// stream: one dies and starts again, another one joins meanwhile, one of two dies. The end counts once.
func TestSealingStories(t *testing.T) {
	t.Parallel()
	const job = "tasks: [{name: in, type: in}, {name: out, type: out, from: in}]"
	for name, story := range map[string]func(ctx context.Context, s *sealers, a *rota.Member, dies func()) *rota.Member{
		"one dies": func(ctx context.Context, s *sealers, _ *rota.Member, dies func()) *rota.Member {
			dies()
			a, _ := s.joins(ctx, "a")
			s.until(a, "a")
			return a
		},
		"one joins": func(ctx context.Context, s *sealers, a *rota.Member, _ func()) *rota.Member {
			b, _ := s.joins(ctx, "b")
			time.Sleep(5 * time.Second) // waits: in virtual time
			s.until(b, "a")
			return b
		},
		"one of two dies": func(ctx context.Context, s *sealers, _ *rota.Member, dies func()) *rota.Member {
			b, _ := s.joins(ctx, "b")
			dies()
			s.until(b, "b")
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, ctx context.Context) {
				s := &sealers{t: t, server: memory.New()}
				a, dies := s.joins(ctx, "a")
				must.Succeed(t, must.Err(a.SubmitFile(ctx, "end.yaml", []byte(job))))
				s.until(a, "a")
				last := story(ctx, s, a, dies)
				s.seal.opened.Store(true)
				must.Succeed(t, last.Wait(ctx, "end"))
				if n := s.sealed.Load(); n != 1 {
					t.Errorf("it was sealed %d times", n)
				}
			})
		})
	}
}

type order struct{ ID string }

// fitTypes are an input and stages of several Go types.
func fitTypes() []rota.Type {
	type none struct{}
	stage := func(context.Context, *rota.Grant, none, []order, *rota.Sender[string]) error { return nil }
	return []rota.Type{
		rota.NewInput("orders", rota.Input[none, order]{Read: func(context.Context, *rota.Grant, none, []byte,
			*rota.Sender[order]) ([]byte, bool, error) {
			return nil, true, nil
		}}),
		rota.NewStage("name", rota.Stage[none, order, string]{Do: stage}),
		rota.NewStage("empty", rota.Stage[none, order, string]{}),
		rota.NewKeyed("keep", rota.Keyed[none, order, order, int]{Do: func(context.Context, *rota.Grant, none, *int,
			[]order, *rota.Sender[order]) error {
			return nil
		}}),
		rota.NewOutput("write",
			rota.Output[none, order]{Write: func(context.Context, *rota.Grant, none, []order) error { return nil }}),
	}
}

// Stages whose Go types do not fit are no flow, and refused at their place; what else is none, package source tests.
func TestFlowsThatDoNotFit(t *testing.T) {
	m, err := rota.Join(t.Context(), rota.Config{Member: "m", Store: memory.New().Open(), Slots: 4, Types: fitTypes()})
	must.Succeed(t, err)
	defer func() {
		if err := m.Leave(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	read := "- {name: read, type: orders}\n"
	for _, c := range []struct{ name, tasks, place, want string }{
		{"Go types that differ", read + "- {name: a, type: name, from: read}\n- {name: b, type: write, from: a}",
			"4:32", "from: task a puts out string, and type write takes github.com/rota-run/rota_test.order"},
		{"a function that is missing", read + "- {name: a, type: empty, from: read}", "", "its function is missing"},
		{"keyed that is missing", read + "- {name: a, type: keep, from: {task: read, by: ID}}", "3:3",
			"type keep keeps state by key, and keyed is missing (keyed: true)"},
		{"keyed, of a type without state", read + "- {name: a, type: name, keyed: true, from: {task: read, by: ID}}",
			"3:25", "keyed: type name keeps no state"},
	} {
		_, err := m.SubmitFile(t.Context(), "fit.yaml", []byte("tasks:\n"+c.tasks+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "fit.yaml:"+c.place) {
			t.Errorf("%s: %v\nwant at %s: %s", c.name, err, c.place, c.want)
		}
	}
}
