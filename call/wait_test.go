package call_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// lists counts the lists of documents.
type lists struct {
	store.Docs
	n atomic.Int64
}

func (l *lists) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	l.n.Add(1)
	return l.Docs.List(ctx, prefix)
}

// TestWaitForWhatHasEnded: the result of a call that has ended costs one read of its document, not a round of looking
// for the ends of calls.
func TestWaitForWhatHasEnded(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		double := call.NewFunc("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil },
			call.Options{})
		s, _ := lab(t, 8, double)
		docs := &lists{Docs: s.Open()}
		c := must.Get(call.NewClient(docs, call.ClientOptions{}))(t)
		defer c.Close()
		const calls = 300
		args := make([]int, calls)
		for i := range args {
			args[i] = i
		}
		sent := must.Get(double.SubmitAll(t.Context(), c, args...))(t)
		time.Sleep(time.Minute) // waits: in virtual time; all have ended
		began := time.Now()
		for i, h := range sent {
			if i == calls-1 {
				if r, err := must.Get(c.Attach(h.ID()))(t).Wait(t.Context()); err != nil || string(r) != "598" {
					t.Errorf("one that was attached: %s, %v", r, err)
				}
				break
			}
			if r, err := h.Wait(t.Context()); err != nil || r != 2*i {
				t.Fatalf("call %d: %d, %v", i, r, err)
			}
		}
		if took := time.Since(began); took != 0 || docs.n.Load() != 0 {
			t.Errorf("%d calls that had ended took %v and %d lists", calls, took, docs.n.Load())
		}
		c.Close()
		if left, err := s.Open().List(t.Context(), "call/"); err != nil || len(left) > 0 {
			t.Errorf("%d documents are left, %v", len(left), err)
		}
	})
}

// TestSubmitAllSaysWhatWasNotSubmitted: an argument that is refused has no call at its place, and the others have one.
func TestSubmitAllSaysWhatWasNotSubmitted(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		echo := call.NewFunc("echo", func(_ context.Context, b []byte) (int, error) { return len(b), nil },
			call.Options{})
		_, c := lab(t, 4, echo)
		sent, err := echo.SubmitAll(t.Context(), c, []byte("a"), make([]byte, call.MostArg), []byte("bcd"))
		if err == nil || len(sent) != 3 || sent[0] == nil || sent[1] != nil || sent[2] == nil {
			t.Fatalf("got %v, %v", sent, err)
		}
		if r, err := sent[2].Wait(t.Context()); err != nil || r != 3 {
			t.Errorf("got %d, %v", r, err)
		}
		if none, err := echo.SubmitAll(t.Context(), c); err != nil || len(none) != 0 {
			t.Errorf("no arguments: %v, %v", none, err)
		}
	})
}

// TestFunctionsThatWaitForFunctions: more functions wait for others than there are slots; each gives its slot away
// while it waits.
func TestFunctionsThatWaitForFunctions(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var c *call.Client
		leaf := call.NewFunc("leaf", func(_ context.Context, n int) (int, error) {
			if n < 0 {
				return 0, call.Permanent(errors.New("negative"))
			}
			return 1, nil
		}, call.Options{})
		var tree call.Func[int, int]
		tree = call.NewFunc("tree", func(ctx context.Context, depth int) (int, error) {
			if depth == 0 {
				h, err := leaf.Submit(ctx, c, 0)
				if err != nil {
					return 0, err
				}
				return h.Wait(ctx)
			}
			sum := 0
			for n, err := range tree.Map(ctx, c, slices.Values([]int{depth - 1, depth - 1}), 2) {
				if err != nil {
					return 0, fmt.Errorf("at depth %d: %w", depth, err)
				}
				sum += n
			}
			return sum, nil
		}, call.Options{})
		_, c = lab(t, 2, leaf, tree)
		h := submit(t, tree, c, 4)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if n, err := h.Wait(ctx); err != nil || n != 16 {
			t.Errorf("got %d, %v, want 16", n, err)
		}
	})
}

// Results come in the order of the arguments, errors at their place; what was taken and not yielded is never more than
// the window.
func TestMapIsInOrderAndBounded(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		odd := call.NewFunc("odd", func(_ context.Context, n int) (string, error) {
			if n%10 == 0 {
				return "", call.Permanent(fmt.Errorf("%d is round", n))
			}
			return fmt.Sprint(n), nil
		}, call.Options{})
		s, c := lab(t, 8, odd)
		s.join(s.Open(), "b", 8, odd)
		const calls, window = 3000, 50
		taken, n := 0, 0
		args := func(yield func(int) bool) {
			for i := range calls {
				if taken++; taken-n > window {
					t.Errorf("%d taken and %d yielded", taken, n)
				}
				if !yield(i) {
					return
				}
			}
		}
		for r, err := range odd.Map(t.Context(), c, args, window) {
			var e *call.Error
			if n%10 == 0 && (!errors.As(err, &e) || e.Message != fmt.Sprintf("%d is round", n)) || n%10 != 0 &&
				(err != nil || r != fmt.Sprint(n)) {
				t.Fatalf("%d: got %q, %v", n, r, err)
			}
			n++
		}
		if n != calls {
			t.Errorf("%d results", n)
		}
		c.Close()
		if left, err := s.Open().List(t.Context(), "call/"); err != nil || len(left) > 0 {
			t.Errorf("%d documents are left, %v", len(left), err)
		}
	})
}

// Leaving a Map early cancels its calls. For a ctx that ends see TestAMapWhoseContextEndsCancelsAllThatIsOutstanding.
func TestALeftMapIsCancelled(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		stay := call.NewFunc("stay", func(ctx context.Context, n int) (int, error) {
			if n == 0 {
				close(first)
				return 0, nil
			}
			<-ctx.Done()
			return 0, ctx.Err()
		}, call.Options{})
		s, c := lab(t, 3, stay)
		args := func(yield func(int) bool) {
			for i := 0; yield(i); i++ {
				receive(t, "the first call runs", first) // the others take all slots, and continue
			}
		}
		for range stay.Map(t.Context(), c, args, 10) {
			break
		}
		look := s.Open()
		await(t, "all have ended", func() bool {
			docs := must.Get(look.List(t.Context(), "call/c/"))(t)
			return !slices.ContainsFunc(docs, func(d store.Doc) bool {
				return strings.Contains(string(d.Value), `"state":"queued"`) ||
					strings.Contains(string(d.Value), `"state":"running"`)
			})
		})
		c.Close()
	})
}

// TestAClientLooksWhileSomebodyWaits: and begins again with the next one. That it is closed is no failure of a call.
func TestAClientLooksWhileSomebodyWaits(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		slow := call.NewFunc("slow", func(ctx context.Context, n int) (int, error) {
			select {
			case <-time.After(time.Duration(n)):
			case <-ctx.Done():
			}
			return n, ctx.Err()
		}, call.Options{})
		s, _ := lab(t, 4, slow)
		docs := &lists{Docs: s.Open()}
		c := client(t, docs, "c2")
		for range 2 {
			if n, err := wait(t, submit(t, slow, c, int(10*time.Second))); err != nil || n != int(10*time.Second) {
				t.Fatal(n, err)
			}
			time.Sleep(time.Minute) // waits: in virtual time
		}
		h := submit(t, slow, c, int(time.Hour))
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := h.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.Sleep(time.Second) // waits: in virtual time
		before := docs.n.Load()
		time.Sleep(time.Minute) // waits: in virtual time
		if n := docs.n.Load() - before; n > 0 {
			t.Errorf("%d looks for nobody", n)
		}
		failed := make(chan error, 1)
		h.OnFailureOrTimeout(func(err error) { failed <- err })
		c.Close()
		synctest.Wait()
		if len(failed) > 0 {
			t.Error(<-failed)
		}
	})
}

// TestAMemberRunsMoreThanItKeeps: what it has claimed leaves room for what is still to come.
func TestAMemberRunsMoreThanItKeeps(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		size := call.NewFunc("size", func(_ context.Context, s string) (int, error) { return len(s), nil },
			call.Options{})
		_, c := lab(t, 4, size)
		large := strings.Repeat("x", call.MostArg-2)
		for range 9 {
			for _, h := range must.Get(size.SubmitAll(t.Context(), c, slices.Repeat([]string{large}, 16)...))(t) {
				if n, err := wait(t, h); err != nil || n != len(large) {
					t.Fatal(n, err)
				}
			}
		}
	})
}

// TestAFunctionLearnsOfASuspension when it asks, before any timer has fired.
func TestAFunctionLearnsOfASuspension(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		asked := make(chan error, 9)
		sleeps := call.NewFunc("sleeps", func(ctx context.Context, _ int) (int, error) {
			asked <- ctx.Err()
			slept.Store(int64(time.Hour))
			asked <- ctx.Err()
			return 0, nil
		}, call.Options{})
		s, clock := newCrowd(t), protocol.NewProcessClock()
		s.clock = func() protocol.Instant { return clock().Add(time.Duration(slept.Load())) }
		s.until = clock().Add(time.Minute)
		s.join(s.Open(), "a", 1, sleeps)
		submit(t, sleeps, client(t, s.Open(), "c"), 0)
		if before, after := <-asked, <-asked; before != nil || after == nil {
			t.Errorf("before it %v, after it %v", before, after)
		}
	})
}

// TestADrainingMemberTakesNoCall: a call waits while its only member drains. Empty pages are removed by the first
// member by name, here one that has no functions.
func TestADrainingMemberTakesNoCall(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		f := call.NewFunc("f", func(context.Context, int) (int, error) { return 1, nil }, call.Options{})
		s := newCrowd(t)
		s.join(s.Open(), "Z", 4) // the first one by its name: it sweeps
		s.join(s.Open(), "a", 4, f)
		s.apply(cluster.DrainMember{Member: "a", On: true})
		docs := s.Open()
		must.Succeed(t, must.Err(docs.Put(t.Context(), store.Doc{Key: "callpage/q/p", Value: []byte("{}")})))
		h := submit(t, f, client(t, s.Open(), "c"), 1)
		time.Sleep(time.Minute) // waits: in virtual time
		if got := stateOf(t, docs, h.ID()); got != "queued" {
			t.Errorf("with one member, which drains, the call is %q", got)
		}
		s.apply(cluster.DrainMember{Member: "a"})
		must.Succeed(t, must.Err(wait(t, h)))
		time.Sleep(15 * time.Minute) // waits: in virtual time
		if _, err := docs.Get(t.Context(), "callpage/q/p"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an empty page is there after a quarter of an hour: %v", err)
		}
	})
}
