package rota_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
)

// word has its key at hand: its JSON does not.
type word struct{ Text string }

func (w word) Key(by string) string { return by + w.Text }

// words is a codec that refuses one of them.
type words struct{}

func (words) Append(b []byte, w word) ([]byte, error) {
	if w.Text == "bad" {
		return nil, errors.New("no codec takes it")
	}
	return append(b, w.Text...), nil
}

func (words) Decode(b []byte) (word, error) { return word{string(b)}, nil }

// A segment may have its key without a field for it, an input begins without a position, and what cannot be encoded is
// tried as often as the stage says and becomes a dead letter: the others pass.
func TestSegmentsOfAStage(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		type none struct{}
		var mu sync.Mutex
		var first [][]byte
		var got []string
		var tries atomic.Int64
		var writes int
		in := rota.NewInput("in", rota.Input[none, word]{
			Read: func(_ context.Context, _ *rota.Grant, _ none, at []byte, out *rota.Sender[word]) ([]byte, bool,
				error) {
				mu.Lock()
				first = append(first, at)
				mu.Unlock()
				for text := range strings.FieldsSeq("a bad b c") {
					if text != "bad" {
						_ = out.Send(word{text})
					}
				}
				return []byte("x"), true, nil
			}, Out: words{},
		})
		same := rota.NewStage("same", rota.Stage[none, word, word]{
			Do: func(_ context.Context, _ *rota.Grant, _ none, in []word, out *rota.Sender[word]) error {
				for _, w := range in {
					if w.Text == "b" {
						tries.Add(1)
						_ = out.Send(word{"bad"}) // its error fails the batch by itself
					}
					_ = out.Send(w)
				}
				return nil
			}, Attempts: 2, In: words{}, Out: words{},
		})
		if got := same.Segments; got.In != got.Out || !strings.HasSuffix(got.In, "/rota_test.word") {
			t.Errorf("types of other packages may have the names %+v", got)
		}
		out := rota.NewOutput("out", rota.Output[none, word]{
			Write: func(_ context.Context, _ *rota.Grant, _ none, in []word) error {
				mu.Lock()
				defer mu.Unlock()
				if writes++; writes <= 5 { // it is tried until it is written
					return errors.New("not yet")
				}
				for _, w := range in {
					got = append(got, w.Text)
				}
				return nil
			}, In: words{},
		})
		m := joinAs(t, ctx, memory.New(), rota.Config{Member: "m", Slots: 4, Types: []rota.Type{in, same, out}})
		job := "tasks: [{name: in, type: in}, {name: same, type: same, from: {task: in, by: key}}, {name: out, type: out, from: {task: same, shards: 3, by: key}}]"
		must.Succeed(t, must.Err(m.SubmitFile(ctx, "words.yaml", []byte(job))))
		must.Succeed(t, m.Wait(ctx, "words"))
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(got)
		if !slices.Equal(slices.Compact(got), []string{"a", "c"}) || tries.Load() != 3 { // as a whole twice, then alone
			t.Errorf("got %q after %d tries", got, tries.Load())
		}
		if len(first) != 1 || first[0] != nil {
			t.Errorf("the input was read from %q", first)
		}
	})
}

// A keyed stage has as many attempts as it says.
func TestAttemptsOfAKeyedStage(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		type none struct{}
		var tries atomic.Int64
		in := rota.NewInput("in", rota.Input[none, string]{
			Read: func(_ context.Context, _ *rota.Grant, _ none, _ []byte, out *rota.Sender[string]) ([]byte, bool,
				error) {
				return nil, true, out.Send("a")
			},
		})
		count := rota.NewKeyed("count", rota.Keyed[none, string, string, int]{
			Do: func(context.Context, *rota.Grant, none, *int, []string, *rota.Sender[string]) error {
				tries.Add(1)
				return errors.New("it fails")
			}, Attempts: 1,
		})
		m := joinAs(t, ctx, memory.New(), rota.Config{Member: "m", Slots: 2, Types: []rota.Type{in, count}})
		job := `tasks: [{name: in, type: in}, {name: count, type: count, keyed: true, from: {task: in, by: "*"}}]`
		must.Succeed(t, must.Err(m.SubmitFile(ctx, "count.yaml", []byte(job))))
		must.Succeed(t, m.Wait(ctx, "count"))
		if n := tries.Load(); n != 2 { // as a whole, then alone
			t.Errorf("%d tries", n)
		}
	})
}

// A partitioner that has nothing to list waits as long as it says.
func TestPollOfAPartitioner(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		var lists atomic.Int64
		typ := rota.NewPartitioner("pages", rota.Partitioner[struct{}]{
			Poll: 10 * time.Second,
			List: func(context.Context, *rota.Grant, struct{}, []byte, int) (rota.Page, error) {
				lists.Add(1)
				return rota.Page{}, nil
			},
			Run: func(context.Context, *rota.Grant, struct{}) error { return nil },
		})
		m := join(t, ctx, memory.New(), "m", typ)
		must.Succeed(t, m.Submit(ctx, "job",
			rota.Task{Type: "pages", Spread: rota.Partitioned, Partitions: []string{"all"}}))
		time.Sleep(35 * time.Second) // waits: in virtual time
		if n := lists.Load(); n < 3 || n > 4 {
			t.Errorf("%d lists in 35 s", n)
		}
	})
}
