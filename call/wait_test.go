package call_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/internal/proof/must"
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

// TestWaitForWhatHasEnded: the result of a call that has ended costs one read of its document, not a round of looking for the ends of calls.
func TestWaitForWhatHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		double := call.NewFunc("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil }, call.Options{})
		s, _ := lab(t, 8, double)
		docs := &lists{Docs: s.Open()}
		c, err := call.NewClient(docs, call.ClientOptions{})
		must.Succeed(t, err)
		defer c.Close()
		const calls = 300
		args := make([]int, calls)
		for i := range args {
			args[i] = i
		}
		sent, err := double.SubmitAll(t.Context(), c, args...)
		must.Succeed(t, err)
		time.Sleep(time.Minute) // waits: in virtual time; all have ended
		began := time.Now()
		for i, h := range sent {
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
	bubble(t, func(t *testing.T) {
		echo := call.NewFunc("echo", func(_ context.Context, b []byte) (int, error) { return len(b), nil }, call.Options{})
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

// TestFunctionsThatWaitForFunctions: more functions wait for others than there are slots; each gives its slot away while it waits.
func TestFunctionsThatWaitForFunctions(t *testing.T) {
	bubble(t, func(t *testing.T) {
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
