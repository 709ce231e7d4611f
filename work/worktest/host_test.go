package worktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

func TestGrantEmitsTaggedSamples(t *testing.T) {
	t.Parallel()
	h := worktest.NewHost()
	g := worktest.NewGrantOf(t, h, "test#k", 1,
		work.Definition{Tags: map[string]string{"squad": "backend", "zone": "a"}})
	typ := work.Type{Name: "x", New: func(work.Definition) (work.Runner, error) {
		return work.RunnerFunc(func(_ context.Context, g *work.Grant) error {
			g.Value("x.up", 0, nil)
			g.Emit("x.up", map[string]string{"zone": "b", "task": "mine"}, publish.Point{AtMS: 7}, publish.Point{Value: 1})
			return nil
		}), nil
	}}
	must.Succeed(t, worktest.Run(t, typ, g))
	s := h.Last(t, "x.up")
	if h.LastValue(t, "x.up") != 1 || s.Tags["squad"] != "backend" || s.Tags["zone"] != "b" ||
		s.Tags["task"] != "test" || s.Tags["member"] != "m1" || s.Tags["partition"] != "k" {
		t.Fatalf("sample %+v", s)
	}
}

// TestPositionsAreFenced: who has the newest token saves as often as it likes, and nobody else does.
func TestPositionsAreFenced(t *testing.T) {
	t.Parallel()
	h := worktest.NewHost()
	older := worktest.NewGrantOf(t, h, "j#a", 3, work.Definition{})
	newer := worktest.NewGrantOf(t, h, "j#a", 5, work.Definition{})
	for _, g := range []*work.Grant{older, newer, newer} {
		saved := []byte{byte(g.Token)}
		must.Succeed(t, g.SavePosition(t.Context(), saved))
		saved[0] = 'x' // the caller's again
	}
	if err := older.SavePosition(t.Context(), []byte("late")); !errors.Is(err, work.ErrToken) {
		t.Fatalf("an old token saved a position: %v", err)
	}
	if got, err := older.LoadPosition(t.Context()); err != nil || string(got) != "\x05" {
		t.Fatalf("position %q, %v", got, err)
	}
	h.SetPosition("j#a", 6, nil)
	if err := newer.SavePosition(t.Context(), []byte("late")); !errors.Is(err, work.ErrToken) {
		t.Errorf("a token saved a position that is older than what the test has set: %v", err)
	}
}

func TestHostFailsAndExpires(t *testing.T) {
	t.Parallel()
	g, h := worktest.NewGrant(t, work.Definition{})
	if !g.Valid() {
		t.Fatal("a new host does not lease")
	}
	h.SetValid(false)
	broken := errors.New("broken")
	h.Fail(broken)
	err := g.Split(t.Context(), []cluster.Child{{Key: "a"}})
	if g.Valid() || !errors.Is(err, broken) || len(h.Children(g.Partition)) != 0 {
		t.Fatalf("valid %v, split %v, children %v", g.Valid(), err, h.Children(g.Partition))
	}
	if _, err := h.LoadPositions(t.Context(), []cluster.PartitionID{"a"}); !errors.Is(err, broken) {
		t.Errorf("load several positions: %v", err)
	}
}

// TestWaitSeesWhatArrives: samples, positions and children wake who waits for them.
func TestWaitSeesWhatArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, h := worktest.NewGrant(t, work.Definition{})
		wait := func(do func(), seen func(*worktest.Host) bool) {
			time.AfterFunc(1, do) // when h waits
			h.Wait(t.Context(), t, seen)
		}
		split := func(key string) { must.Succeed(t, g.Split(t.Context(), []cluster.Child{{Key: key}})) }
		split("a")
		wait(func() { split("b") }, func(h *worktest.Host) bool { return len(h.Children(g.Partition)) == 2 })
		wait(func() { must.Succeed(t, g.SavePosition(t.Context(), []byte("p"))) },
			func(h *worktest.Host) bool { return h.Position(g.Partition) != nil })
		wait(func() { g.Value("x", 1, nil) }, func(h *worktest.Host) bool { return len(h.Named("x")) == 1 })
		if at := time.UnixMilli(h.Last(t, "x").Points[0].AtMS); time.Since(at).Abs() > time.Minute {
			t.Errorf("it was measured at %s", at)
		}
	})
}
