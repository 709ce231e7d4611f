package rota_test

import (
	"context"
	"slices"
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

// TestWhoSealsIsSeen: each step of the end of a flow is seen, with who seals and what is waited for. One that dies while it seals the output is followed
// by another, who is seen too.
func TestWhoSealsIsSeen(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		type none struct{}
		var read, work, seal gate
		types := []rota.Type{
			rota.NewInput("in", rota.Input[none, string]{Read: func(_ context.Context, g *rota.Grant, _ none, at []byte, out *rota.Sender[string]) ([]byte, bool, error) {
				if at == nil {
					_ = out.Send("x")
				}
				return []byte("x"), g.Index == 0 || read.opened.Load(), nil
			}}),
			rota.NewStage("work", rota.Stage[none, string, string]{Do: func(ctx context.Context, _ *rota.Grant, _ none, in []string, out *rota.Sender[string]) error {
				_ = out.Send(in[0])
				return work.pass(ctx)
			}}),
			rota.NewOutput("out", rota.Output[none, string]{
				Write: func(context.Context, *rota.Grant, none, []string) error { return nil },
				Seal:  func(ctx context.Context, _ *rota.Grant, _ none) error { return seal.pass(ctx) },
			}),
		}
		server, members, handles := memory.New(), map[string]*rota.Member{}, map[string]*memory.Store{}
		for _, name := range []string{"a", "b", "c"} {
			handles[name] = server.Open()
			m, err := rota.Join(ctx, rota.Config{Member: name, Slots: 2, Types: types, Store: handles[name], Clock: protocol.NewProcessClock()})
			must.Succeed(t, err)
			defer m.Leave(ctx)
			members[name] = m
		}
		by, q := members["a"], server.Open()
		defer q.Close()
		job := "tasks: [{name: in, type: in, parts: 2}, {name: work, type: work, from: in}, {name: out, type: out, from: work}]"
		must.Succeed(t, must.Err(by.SubmitFile(ctx, "end.yaml", []byte(job))))
		seen := func() []view.FlowTask {
			f, err := view.FlowOf(t.Context(), q, by.Value(), "end")
			must.Succeed(t, err)
			if f == nil {
				return make([]view.FlowTask, 3)
			}
			return f.Tasks
		}
		until := func(what string, holds func(in, work, out view.FlowTask) bool) view.FlowTask {
			t.Helper()
			for range 12_000 {
				if s := seen(); holds(s[0], s[1], s[2]) {
					return s[2]
				}
				time.Sleep(10 * time.Millisecond) // waits: in virtual time
			}
			t.Fatalf("%s: the flow is %+v", what, seen())
			return view.FlowTask{}
		}
		until("it reads", func(in, work, out view.FlowTask) bool {
			return in.State == view.FlowReading && in.Waits == "1 of 2 parts are read to the end" && work.State == view.FlowOpen && work.Waits == "for the end of in" &&
				out.State == view.FlowOpen && out.Sealers == nil
		})
		read.opened.Store(true)
		until("it is read", func(in, work, out view.FlowTask) bool {
			return in.State == view.FlowComplete && work.State == view.FlowDraining && work.Pending > 0 && out.Waits == "for the end of work"
		})
		work.opened.Store(true)
		sealed := func(_, work, out view.FlowTask) bool {
			return work.State == view.FlowComplete && out.State == view.FlowSealing && len(out.Sealers) == 1 && out.Waits == "for "+out.Sealers[0]+", which seals the output"
		}
		first := until("somebody seals", sealed).Sealers
		for name, m := range members {
			if slices.Contains(first, name) {
				handles[name].Close() // as the death of a process
			} else {
				by = m
			}
		}
		until("another one seals", func(in, work, out view.FlowTask) bool {
			return sealed(in, work, out) && !slices.Equal(out.Sealers, first)
		})
		seal.opened.Store(true)
		until("it is complete", func(_, _, out view.FlowTask) bool { return out.State == view.FlowComplete && out.Sealers == nil })
		must.Succeed(t, by.Wait(ctx, "end"))
	})
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
	m, err := rota.Join(ctx, rota.Config{Member: name, Slots: 1, Store: h, Clock: protocol.NewProcessClock(), Types: []rota.Type{
		rota.NewInput("in", rota.Input[none, string]{
			Read: func(_ context.Context, _ *rota.Grant, _ none, _ []byte, out *rota.Sender[string]) ([]byte, bool, error) {
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
		if f != nil && slices.Equal(f.Tasks[1].Sealers, []string{sealer}) && f.Tasks[1].Waits == "for "+sealer+", which seals the output" {
			return
		}
		time.Sleep(10 * time.Millisecond) // waits: in virtual time
	}
	s.t.Fatalf("%s never seals", sealer)
}

// TestSealingStories are those of the source document on the coordinator in which a peer propagates the end of a stream: one dies and starts again, another
// one joins meanwhile, one of two dies. The end counts once.
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
