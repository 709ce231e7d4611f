package rota_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store/memory"
)

// TestWaitForAKilledJob: Wait returns when the run has ended, not when the job is marked.
func TestWaitForAKilledJob(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		var over atomic.Bool
		begun := make(chan struct{})
		slow := rota.NewType("slow", func(ctx context.Context, _ *rota.Grant, _ struct{}) error {
			close(begun)
			<-ctx.Done()
			time.Sleep(2 * time.Second) // waits: in virtual time
			over.Store(true)
			return nil
		})
		m := join(t, ctx, memory.New(), "a", slow)
		must.Succeed(t, m.Submit(ctx, "job", rota.Task{Type: "slow"}))
		<-begun
		if owner, token := m.OwnerOf("job", ""); owner != "a" || token == 0 {
			t.Errorf("owned by %q under %d", owner, token)
		}
		short, cancel := context.WithCancel(ctx)
		cancel()
		if err := m.Wait(short, "job"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v while it runs", err)
		}
		must.Succeed(t, m.Kill(ctx, "job"))
		wantEnd(t, m.Wait(ctx, "job"), "killed")
		if !over.Load() {
			t.Error("Wait returned while the run went on")
		}
		wantEnd(t, m.Wait(ctx, "no-such-job"), "unknown")
	})
}

func wantEnd(t *testing.T, err error, state string) {
	t.Helper()
	var end *rota.JobError
	if !errors.As(err, &end) || end.State != state {
		t.Errorf("got %v, want a job that is %s", err, state)
	}
}

// TestWaitForAParkedJob: what is left of the job failed too often, so Wait says that and why; after Unpark it goes on.
func TestWaitForAParkedJob(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		var broken atomic.Bool
		broken.Store(true)
		typ := rota.NewType("copy", func(_ context.Context, g *rota.Grant, _ struct{}) error {
			if g.Key == "b" && broken.Load() {
				return errors.New("disk full")
			}
			return nil
		})
		m := join(t, ctx, memory.New(), "a", typ)
		must.Succeed(t, m.Submit(ctx, "job",
			rota.Task{Type: "copy", Spread: rota.Partitioned, Partitions: []string{"a", "b"}, MaxAttempts: 1}))
		err := m.Wait(ctx, "job")
		wantEnd(t, err, "parked")
		if want := `job "job" is parked: job#b failed 1 times: disk full`; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		broken.Store(false)
		if err := m.Unpark(ctx, "job#a"); !errors.Is(err, rota.ErrRefused) {
			t.Errorf("unpark what is not parked: %v", err)
		}
		must.Succeed(t, m.Unpark(ctx, "job#b"))
		if err := m.Wait(ctx, "job"); err != nil {
			t.Errorf("after unpark: %v", err)
		}
	})
}

// TestWaitForWhatIsBehindAParkedPartition: what would begin after it can't go on either.
func TestWaitForWhatIsBehindAParkedPartition(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		typ := rota.NewType("shard", func(ctx context.Context, g *rota.Grant, _ struct{}) error {
			err := g.Split(ctx, []cluster.Child{{Key: "b", Parents: []string{"a"}}})
			return errors.Join(err, errors.New("disk full"))
		})
		m := join(t, ctx, memory.New(), "a", typ)
		must.Succeed(t, m.Submit(ctx, "job",
			rota.Task{Type: "shard", Spread: rota.Partitioned, Partitions: []string{"a"}, MaxAttempts: 1}))
		wantEnd(t, m.Wait(ctx, "job"), "parked")
	})
}

// TestDrainAndEvents: a drained member's task moves, and both members tell it. One that has left is asked nothing more.
func TestDrainAndEvents(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		typ, _ := runs("watch")
		events := make(chan string, 16)
		tells := func(name string) rota.Events {
			return rota.Events{
				Owned: func(p string, token rota.Token) { events <- fmt.Sprintf("%s owns %s %v", name, p, token > 0) },
				Lost:  func(p string, _ rota.Token) { events <- fmt.Sprintf("%s lost %s", name, p) },
			}
		}
		a := joinAs(t, ctx, s, rota.Config{Member: "a", Types: []rota.Type{typ}, Events: tells("a")})
		must.Succeed(t, a.Submit(ctx, "job", rota.Task{Type: "watch"}))
		expect(t, ctx, events, "a owns job true")
		joinAs(t, ctx, s, rota.Config{Member: "b", Types: []rota.Type{typ}, Events: tells("b")})
		must.Succeed(t, a.Drain(ctx, a.Name()))
		expect(t, ctx, events, "a lost job")
		expect(t, ctx, events, "b owns job true")
		must.Succeed(t, a.Undrain(ctx, "a"))
		if owner, _ := a.OwnerOf("job", ""); owner != "b" {
			t.Errorf("owned by %q, want b: a drained member takes nothing back", owner)
		}
		must.Succeed(t, a.Drain(ctx, "b")) // now it may
		expect(t, ctx, events, "b lost job")
		expect(t, ctx, events, "a owns job true")
		if err := a.Drain(ctx, "nobody"); !errors.Is(err, rota.ErrRefused) {
			t.Errorf("drain an unknown member: %v", err)
		}
		must.Succeed(t, a.Pause(ctx, "job"))
		expect(t, ctx, events, "a lost job")
		must.Succeed(t, a.Resume(ctx, "job"))
		expect(t, ctx, events, "a owns job true")
		must.Succeed(t, a.Submit(ctx, "keys",
			rota.Task{Type: "watch", Spread: rota.Partitioned, Partitions: []string{"k"}}))
		expect(t, ctx, events, "a owns keys#k true")
		if owner, _ := a.OwnerOf("keys", "k"); owner != "a" {
			t.Errorf("owned by %q, want a", owner)
		}
		var names []string
		for _, m := range a.Metrics() {
			names = append(names, m.Name)
		}
		if !slices.Contains(names, "rota_member_joined") || !slices.Contains(names, "rota_cluster_members") {
			t.Errorf("metrics %q, want those of the member and of the cluster", names)
		}
		must.Succeed(t, a.Leave(ctx))
		began := time.Now()
		if err := a.Pause(ctx, "job"); err == nil || time.Since(began) > time.Second {
			t.Errorf("one that has left was asked for %v: %v", time.Since(began), err)
		}
	})
}

// TestRunNow: a round that is asked for at one member begins at the owner, at once; where there is none to ask for, the
// error says so.
func TestRunNow(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		rounds := make(chan string, 4)
		check := rota.NewCheck("check", func(ctx context.Context, _ *rota.Grant, _ struct{}) error {
			rounds <- rota.MemberFrom(ctx).Name()
			return nil
		})
		steady, _ := runs("steady")
		a := joinAs(t, ctx, s, rota.Config{Member: "a", Types: []rota.Type{check, steady}})
		for name, task := range map[string]rota.Task{"hourly": {Type: "check", Every: time.Hour},
			"steady": {Type: "steady"}} { // order-free: each by itself
			must.Succeed(t, a.Submit(ctx, name, task))
		}
		expect(t, ctx, rounds, "a")
		b := joinAs(t, ctx, s, rota.Config{Member: "b", Types: []rota.Type{check, steady}})
		began := time.Now()
		must.Succeed(t, b.RunNow(ctx, "hourly"))
		<-rounds
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it began after %v", took)
		}
		for _, name := range []string{"steady", "none"} {
			if err := b.RunNow(ctx, name); !errors.Is(err, rota.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestMemberFrom: what runs on a member reaches it and its locks by its ctx, in tasks, in rounds and in functions.
func TestMemberFrom(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		names := make(chan string, 4)
		name := func(ctx context.Context) string {
			if rota.LocksFrom(ctx).Lock("x").Name() != "x" {
				t.Error("no locks")
			}
			return rota.MemberFrom(ctx).Name()
		}
		steady := rota.NewType("steady", func(ctx context.Context, g *rota.Grant, _ struct{}) error {
			names <- "task on " + name(ctx)
			whole := g.Host.(interface{ Whole() rota.Value }).Whole() // for contrib: in a command MemberFrom is nil
			if owned, _ := whole.Partition(g.Partition); string(owned.Owner) != "a" || owned.Token != g.Token {
				t.Errorf("the host says that the task is owned by %q under %d", owned.Owner, owned.Token)
			}
			return nil
		})
		round := rota.NewCheck("round", func(ctx context.Context, _ *rota.Grant, _ struct{}) error {
			select {
			case names <- "round on " + name(ctx):
			default:
			}
			return nil
		})
		where := rota.NewFunc("where", func(ctx context.Context, _ int) (string, error) { return name(ctx), nil })
		m := joinAs(t, ctx, memory.New(), rota.Config{Member: "a", Slots: 1, Types: []rota.Type{steady, round},
			Functions: []rota.Function{where}})
		for job, task := range map[string]rota.Task{"steady": {Type: "steady"},
			"round": {Type: "round", Every: time.Second}} {
			must.Succeed(t, m.Submit(ctx, job, task))
		}
		seen := map[string]bool{<-names: true, <-names: true}
		for len(seen) < 2 {
			seen[<-names] = true
		}
		if !seen["task on a"] || !seen["round on a"] {
			t.Errorf("got %v", seen)
		}
		call, err := where.Submit(ctx, m, 0)
		must.Succeed(t, err)
		if got, err := call.Wait(ctx); err != nil || got != "a" {
			t.Errorf("function on %q, %v", got, err)
		}
		if rota.MemberFrom(ctx) != nil || rota.LocksFrom(ctx) != nil {
			t.Error("a ctx of nobody has a member or locks")
		}
	})
}

// TestSingleton: one of two members works at a time; when it is done the other one does, under a larger token.
func TestSingleton(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		members := []*rota.Member{join(t, ctx, s, "a"), join(t, ctx, s, "b")}
		var mu sync.Mutex
		var inside, turns int
		var last rota.Token
		var all sync.WaitGroup
		for _, m := range members {
			all.Go(func() {
				err := m.Singleton(ctx, "reports", func(_ context.Context, token rota.Token) error {
					mu.Lock()
					inside, turns = inside+1, turns+1
					if inside > 1 || token <= last {
						t.Errorf("%d inside, token %d after %d", inside, token, last)
					}
					last = token
					mu.Unlock()
					time.Sleep(time.Second) // waits: in virtual time
					mu.Lock()
					inside--
					mu.Unlock()
					return errors.New("done")
				})
				if err == nil || err.Error() != "done" {
					t.Errorf("got %v, want what the function returned", err)
				}
			})
		}
		all.Wait()
		if turns != 2 {
			t.Errorf("%d turns, want 2", turns)
		}
		mine, cancel := context.WithCancel(ctx)
		err := members[0].Singleton(mine, "reports", func(ctx context.Context, _ rota.Token) error {
			turns++
			cancel()
			<-ctx.Done()
			return rota.ErrLost // whatever it says: its time is over
		})
		if turns != 3 || err == nil {
			t.Errorf("%d turns, want 3: %v", turns, err)
		}
		err = members[0].Singleton(ctx, "reports", func(context.Context, rota.Token) error {
			if turns++; turns > 4 {
				return errors.New("called again")
			}
			return fmt.Errorf("another lock: %w", rota.ErrLost)
		})
		if turns != 4 || !errors.Is(err, rota.ErrLost) {
			t.Errorf("%d turns, want 4: %v", turns, err)
		}
	})
}

const twoSteps = `tasks:
- {name: first, type: step, max: 1}
- {name: second, type: step, after: first, max: 1}
`

// A workflow from a file: the second task starts when the first has ended, and the job when both have.
func TestSubmitFile(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		told := make(chan string, 8)
		step := rota.NewType("step", func(_ context.Context, g *rota.Grant, _ struct{}) error {
			told <- g.Task
			return nil
		})
		m := joinAs(t, ctx, memory.New(), rota.Config{Member: "a", Types: []rota.Type{step}, Slots: 3})
		job, err := m.SubmitFile(ctx, "jobs/etl.yaml", []byte(twoSteps))
		if err != nil || job != "etl" {
			t.Fatalf("%q, %v", job, err)
		}
		must.Succeed(t, m.Wait(ctx, job))
		expect(t, ctx, told, "first")
		expect(t, ctx, told, "second")
		if _, err := m.SubmitFile(ctx, "etl.yaml", []byte(twoSteps)); err != nil || len(told) > 0 {
			t.Errorf("again: %v, %d runs", err, len(told))
		}

		_, err = m.SubmitFile(ctx, "etl.yaml", []byte(strings.Replace(twoSteps, "after: first", "after: frist", 1)))
		var malformed *source.MalformedError
		if !errors.As(err, &malformed) || malformed.Line != 3 || malformed.Hint != `did you mean "first"?` {
			t.Errorf("got %v", err)
		}
	})
}

// Under the protocol lease members hear of a job from the leader. Each that has submitted it waits for its end at once,
// also the second one, which finds it there.
func TestSubmitThenWaitByClaims(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		server := memory.New()
		step := rota.NewType("step", func(context.Context, *rota.Grant, struct{}) error { return nil })
		ended := make(chan error, 2)
		for _, name := range []string{"a", "b"} {
			m := joinAs(t, ctx, server, rota.Config{Member: name, Types: []rota.Type{step}, Slots: 3,
				Protocol: lease.Protocol{}})
			go func() {
				job, err := m.SubmitFile(ctx, "etl.yaml", []byte(twoSteps))
				ended <- errors.Join(err, m.Wait(ctx, job))
			}()
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
