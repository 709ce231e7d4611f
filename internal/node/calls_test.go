package node

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// stage is where functions of the tests play: who runs now, and who ran with which token.
type stage struct {
	mu      sync.Mutex
	active  int
	overlap bool
	members []string
	tokens  []uint64
	causes  []error
}

// function stays until its ctx ends; on the member named stop it ends at once.
func (s *stage) function(member, stop string) call.Function {
	return call.NewFunc("stay", func(ctx context.Context, _ int) (string, error) {
		s.mu.Lock()
		s.active++
		s.overlap = s.overlap || s.active > 1
		s.members, s.tokens = append(s.members, member), append(s.tokens, call.TokenOf(ctx))
		s.mu.Unlock()
		var err error
		if member != stop {
			<-ctx.Done()
			err = context.Cause(ctx)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
		s.causes = append(s.causes, err)
		return member, err
	}, call.Options{})
}

func (s *stage) ran() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members
}

func caller(t *testing.T, s *memory.Server) *call.Client {
	t.Helper()
	st := s.Open()
	c := must.Get(call.NewClient(st, call.ClientOptions{}))(t)
	t.Cleanup(func() { c.Close(); st.Close() })
	return c
}

func (s *stage) submit(t *testing.T, c *call.Client, o call.Options) *call.Handle {
	t.Helper()
	h := must.Get(c.Submit(t.Context(), "stay", []byte("1"), o))(t)
	return h
}

func result(t *testing.T, h *call.Handle) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := must.Get(h.Wait(ctx))(t)
	return string(r)
}

func TestADrainingMemberHandsItsCallsBack(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, g := memory.New(), &stage{}
		a := start(t, s, "a", func(c *Config) { c.Slots, c.Functions = 1, []call.Function{g.function("a", "b")} })
		h := g.submit(t, caller(t, s), call.Options{Attempts: 1})
		await(t, "it runs on a", func() bool { return len(g.ran()) == 1 })
		start(t, s, "b", func(c *Config) { c.Slots, c.Functions = 1, []call.Function{g.function("b", "b")} })
		must.Succeed(t, must.Err(a.Propose(t.Context(), cluster.DrainMember{Member: "a", On: true})))
		if r := result(t, h); r != `"b"` {
			t.Errorf("got %s", r)
		}
		await(t, "a has counted it", func() bool { st := a.Status().Calls; return st.Released == 1 && st.Running == 0 }) // behind the write that let b begin
		if !errors.Is(g.causes[0], work.CauseDrained) || g.tokens[1] <= g.tokens[0] || g.overlap {
			t.Errorf("causes %v, tokens %v, overlap %v", g.causes, g.tokens, g.overlap)
		}
	})
}

// A member that is cut off ends its runs before others count it out, and they run the call.
func TestTheCallsOfACutOffMemberMoveWithoutOverlap(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, g := memory.New(), &stage{}
		line := cable(t, s)
		start(t, s, "keeper", nil)
		a := start(t, s, "a", func(c *Config) {
			c.Slots, c.Functions = 1, []call.Function{g.function("a", "b")}
			c.Store, c.NoSessions = line, true
		})
		h := g.submit(t, caller(t, s), call.Options{})
		await(t, "it runs on a", func() bool { return len(g.ran()) == 1 })
		start(t, s, "b", func(c *Config) { c.Slots, c.Functions = 1, []call.Function{g.function("b", "b")} })
		line.Away(true)
		if r := result(t, h); r != `"b"` {
			t.Errorf("got %s", r)
		}
		line.Away(false)
		await(t, "a gives up its outcome", func() bool {
			st := a.Status().Calls
			return st.Lost+st.Released == 1 && st.Running == 0
		})
		if g.overlap || !errors.Is(g.causes[0], work.CauseLeaseLost) || g.tokens[1] <= g.tokens[0] {
			t.Errorf("causes %v, tokens %v, overlap %v", g.causes, g.tokens, g.overlap)
		}
	})
}

// Slots that tasks have are not for calls.
func TestCallsTakeIdleSlotsAlone(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, g := memory.New(), &stage{}
		a := start(t, s, "a", func(c *Config) { c.Slots, c.Functions = 2, []call.Function{g.function("a", "a")} })
		a.submit("pool", cluster.TaskSpec{Type: "stay", Spread: cluster.SpreadPool})
		await(t, "the task has all slots",
			func() bool { return a.Status().Work.Counts.Running == 2 && a.idleSlots() == 0 })
		h := g.submit(t, caller(t, s), call.Options{})
		await(t, "the member knows of the call",
			func() bool { return a.Status().Calls.Queued == 1 || len(g.ran()) > 0 })
		if len(g.ran()) > 0 {
			t.Error("it ran on a slot of the task")
		}
		must.Succeed(t, must.Err(a.Propose(t.Context(), cluster.KillJob{Job: "pool"})))
		result(t, h)
	})
}

func TestAFailedAttemptIsJournaled(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New()
		bad := call.NewFunc("bad", func(context.Context, int) (int, error) { panic("no luck") }, call.Options{})
		path := filepath.Join(t.TempDir(), "witness")
		a := start(t, s, "a", func(c *Config) { c.Slots, c.Functions, c.WitnessPath = 1, []call.Function{bad}, path })
		h := must.Get(caller(t, s).Submit(t.Context(), "bad", []byte("1"), call.Options{Attempts: 2, Backoff: -1}))(t)
		if _, err := h.Wait(t.Context()); err == nil {
			t.Error("it did not fail")
		}
		await(t, "both attempts are journaled, with their stacks", func() bool {
			stacks, ends := 0, 0
			for _, r := range a.records(journal.RunError) {
				if r.Partition != "call:bad" || !strings.Contains(r.Message, h.ID()) {
					t.Fatalf("got %+v", r)
				}
				if strings.Contains(r.Message, "calls_test.go") {
					stacks++
				} else {
					ends++
				}
			}
			return stacks == 2 && ends == 2
		})
		if st := a.Status().Calls; st.Failed != 1 || st.Retried != 1 {
			t.Errorf("it counted %+v", st)
		}
		if got := witnessed(t, path, partitionOfCall(h.ID())); got != "join start stop start stop" {
			t.Errorf("the witness saw %q", got)
		}
	})
}

func TestFunctionsNeedSlots(t *testing.T) {
	t.Parallel()
	f := call.NewFunc("f", func(context.Context, int) (int, error) { return 0, nil }, call.Options{})
	for want, c := range map[string]Config{
		"no slots": {Functions: []call.Function{f}},
		"two":      {Functions: []call.Function{f, f}, Slots: 1},
	} {
		c.Member, c.Store, c.Protocol = "a", memory.New().Open(), replica.Protocol{}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %q", err, want)
		}
	}
}
