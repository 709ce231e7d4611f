package rota_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// virtual runs a test in a bubble of testing/synctest: its time passes only while all of it waits, so no machine is too
// slow for it.
func virtual(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		test(t, ctx)
	})
}

// join starts a member with some task types, see joinAs.
func join(t *testing.T, ctx context.Context, s *memory.Server, name string, types ...rota.Type) *rota.Member {
	t.Helper()
	return joinAs(t, ctx, s, rota.Config{Member: name, Types: types})
}

// joinAs starts a member in virtual time, on a handle of its own, that leaves when the test ends.
func joinAs(t *testing.T, ctx context.Context, s *memory.Server, c rota.Config) *rota.Member {
	t.Helper()
	c.Store, c.Clock = s.Open(), protocol.NewProcessClock()
	m, err := rota.Join(ctx, c)
	if err != nil {
		t.Fatalf("join %s: %v", c.Member, err)
	}
	t.Cleanup(func() {
		if err := m.Leave(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("leave %s: %v", c.Member, err)
		}
	})
	return m
}

// runs is a type that tells where it starts and why it ends.
func runs(name string) (rota.Type, chan string) {
	told := make(chan string, 16)
	return rota.NewType(name, func(ctx context.Context, g *rota.Grant, _ struct{}) error {
		told <- fmt.Sprintf("start %s", g.Member)
		<-ctx.Done()
		told <- fmt.Sprintf("stop %s: %v", g.Member, context.Cause(ctx))
		return nil
	}), told
}

func expect(t *testing.T, ctx context.Context, told <-chan string, want string) {
	t.Helper()
	select {
	case got := <-told:
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case <-ctx.Done():
		t.Fatalf("nothing happened; want %q", want)
	}
}

func TestATaskMovesWhenItsMemberLeaves(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		typ, told := runs("watch")
		a := join(t, ctx, s, "a", typ)
		must.Succeed(t, a.Submit(ctx, "job", rota.Task{Type: "watch"}))
		expect(t, ctx, told, "start a")
		b := join(t, ctx, s, "b", typ)
		must.Succeed(t, a.Leave(ctx))
		expect(t, ctx, told, "stop a: "+rota.CauseDrained.Error())
		expect(t, ctx, told, "start b")
		must.Succeed(t, b.Leave(ctx)) // nobody is left to take it
		expect(t, ctx, told, "stop b: "+rota.CauseDrained.Error())
	})
}

// A Leave whose ctx has ended does not wait for the tasks to move, and what waits for the member is told that it has
// ended.
func TestLeaveInAHurry(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		slow := rota.NewType("slow", func(ctx context.Context, _ *rota.Grant, _ struct{}) error {
			<-ctx.Done()
			time.Sleep(5 * time.Second) // waits: in virtual time
			return nil
		})
		a := joinAs(t, ctx, s, rota.Config{Member: "a", Types: []rota.Type{slow}, DrainTimeout: 40 * time.Second})
		must.Succeed(t, a.Submit(ctx, "job", rota.Task{Type: "slow", Handover: rota.NoGap}))
		ended := make(chan error, 1)
		go func() { ended <- a.Wait(ctx, "job") }()
		join(t, ctx, s, "b") // it does not know the type: what should move there never runs there
		over, cancel := context.WithCancel(ctx)
		cancel()
		begun := time.Now()
		must.Succeed(t, a.Leave(over))
		if d := time.Since(begun); d != 5*time.Second {
			t.Errorf("it took %s, want what its task takes to stop", d)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the member has ended") {
			t.Errorf("who waited got %v", err)
		}
	})
}

func TestKillStopsATask(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		typ, told := runs("watch")
		a := join(t, ctx, memory.New(), "a", typ)
		must.Succeed(t, a.Submit(ctx, "job", rota.Task{Type: "watch"}))
		expect(t, ctx, told, "start a")
		must.Succeed(t, a.Kill(ctx, "job"))
		expect(t, ctx, told, "stop a: "+rota.CauseKilled.Error())
	})
}

// A name has one member at a time, and who gives up gets the cause.
func TestJoinIsRefused(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		join(t, ctx, s, "a")
		short, cancel := context.WithCancelCause(ctx)
		cause := errors.New("changed my mind")
		cancel(cause)
		if m, err := rota.Join(short,
			rota.Config{Member: "b", Store: s.Open(), Clock: protocol.NewProcessClock()}); !errors.Is(err, cause) {
			t.Errorf("got %v, %v, want %v", m, err, cause)
		}
		if m, err := rota.Join(ctx, rota.Config{Member: "a", Store: s.Open(),
			Clock: protocol.NewProcessClock()}); err == nil || !strings.Contains(err.Error(), "already running") {
			t.Errorf("got %v, %v", m, err)
		}
	})
}

// away is a store that does not answer.
type away struct{ store.Full }

func (away) Get(context.Context, string) (store.Doc, error) {
	return store.Doc{}, fmt.Errorf("%w: connection refused", store.ErrUnavailable)
}

func TestJoinSaysWhatIsWrongWithTheStore(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		st := memory.New().Open()
		defer st.Close()
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := rota.Join(short, rota.Config{Member: "a", Store: away{st}, Clock: protocol.NewProcessClock()})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %v, want the deadline and why the store does not answer", err)
		}
	})
}

// TestEmbeddingIsCheap bounds what a program links that only embeds a member: no metrics library, no HTTP, no client of
// a server (decision 30). A store adds packages of this module and what its driver needs, which is a checksum for the
// one in memory (decision 113).
func TestEmbeddingIsCheap(t *testing.T) {
	t.Parallel()
	member := linked(t, ".")
	if len(member) > 161 {
		t.Errorf("%d packages, at most 161 are promised", len(member))
	}
	all := linked(t, ".", "./store/memory")
	if len(all) > 171 {
		t.Errorf("%d packages with the store in memory, at most 171 are promised", len(all))
	}
	for _, p := range all {
		if !slices.Contains(member, p) && !strings.HasPrefix(p, "github.com/rota-run/rota/store/") &&
			p != "github.com/rota-run/rota/internal/store/driver/drivermap" && p != "hash/crc32" {
			t.Errorf("the store in memory links %s", p)
		}
	}
	for _, p := range all {
		for _, heavy := range []string{
			"net/http", "github.com/prometheus", "google.golang.org", "go.etcd.io", "github.com/nats-io",
			"github.com/go-zookeeper", "github.com/twmb", "modernc.org", "github.com/jackc",
		} {
			if p == heavy || strings.HasPrefix(p, heavy+"/") {
				t.Errorf("an embedded member links %s", p)
			}
		}
	}
}

// linked are the packages that some packages need, and these.
func linked(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
	must.Succeed(t, err)
	return strings.Fields(string(out))
}
