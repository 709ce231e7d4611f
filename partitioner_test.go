package rota_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
)

// numbers lists "0" to "n-1".
func numbers(n int) func(context.Context, *rota.Grant, struct{}, []byte, int) (rota.Page, error) {
	return func(_ context.Context, _ *rota.Grant, _ struct{}, cursor []byte, limit int) (rota.Page, error) {
		from, _ := strconv.Atoi(string(cursor))
		p := rota.Page{}
		for i := from; i < min(n, from+limit); i++ {
			p.Items = append(p.Items, rota.Item{Key: fmt.Sprint("item-", i), Input: []byte(strconv.Itoa(i))})
		}
		to := from + len(p.Items)
		p.Cursor, p.End = []byte(strconv.Itoa(to)), to == n
		return p, nil
	}
}

// seen counts runs of items that ended well.
type seen struct {
	mu   sync.Mutex
	done map[string][]string // by input: the members that have done it
	most int                 // items in the value at once
}

func (s *seen) note(v rota.Value, g *rota.Grant) {
	window := 0
	for range v.Window("sum#all") {
		window++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[string(g.Input)] = append(s.done[string(g.Input)], string(g.Member))
	s.most = max(s.most, window)
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.done)
}

// Every input is done on three members, once but for runs that are cut when the member that lists leaves; the window
// stays small, and nothing is left behind.
func TestEveryInputIsDoneOnce(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		const inputs, window = 300, 20
		s, all := memory.New(), &seen{done: map[string][]string{}}
		half := make(chan struct{})
		var once sync.Once
		members := map[string]*rota.Member{}
		var mu sync.Mutex
		typ := rota.NewPartitioner("sum", rota.Partitioner[struct{}]{Window: window, MaxConcurrent: 4,
			List: numbers(inputs),
			Run: func(ctx context.Context, g *rota.Grant, _ struct{}) error {
				if err := g.SavePosition(ctx, g.Input); err != nil {
					return err
				}
				mu.Lock()
				m := members[string(g.Member)]
				mu.Unlock()
				all.note(m.Value(), g)
				if all.count() == inputs/2 {
					once.Do(func() { close(half) })
				}
				return nil
			}})
		mu.Lock()
		for _, name := range []string{"a", "b", "c"} {
			members[name] = join(t, ctx, s, name, typ)
		}
		mu.Unlock()
		task := rota.Task{Type: "sum", Spread: rota.Partitioned, Partitions: []string{"all"}}
		must.Succeed(t, members["b"].Submit(ctx, "sum", task))
		select {
		case <-half:
		case <-ctx.Done():
			t.Fatalf("%d inputs are done", all.count())
		}
		lister, _ := members["b"].Value().Partition("sum#all")
		must.Succeed(t, members[string(lister.Owner)].Leave(ctx))
		other := members["a"]
		if lister.Owner == "a" {
			other = members["b"]
		}
		ended(t, ctx, other, "sum")
		for i := range inputs {
			by := all.done[strconv.Itoa(i)]
			if cut := len(by) == 2 && by[0] == string(lister.Owner); len(by) != 1 && !cut {
				t.Errorf("input %d was done by %q, %s has left", i, by, lister.Owner)
			}
		}
		if all.most > window {
			t.Errorf("there were %d items at once, the window is %d", all.most, window)
		}
		if docs, err := s.Open().List(ctx, "position/"); err != nil || len(docs) != 0 {
			t.Errorf("%d positions are left behind: %v", len(docs), err)
		}
	})
}

// ended waits until a job is completed, and looks at what is left of it.
func ended(t *testing.T, ctx context.Context, m *rota.Member, job string) {
	t.Helper()
	if err := m.Wait(ctx, job); err != nil {
		t.Fatalf("%v\n%s", err, m.Value())
	}
	if parts := slices.Collect(m.Value().Partitions()); len(parts) != 1 {
		t.Errorf("of job %s these partitions are left: %v", job, parts)
	}
}

// An item that fails is tried again, and one that fails too often stays in the window until it is unparked.
func TestAnItemFails(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		var mu sync.Mutex
		tries := map[string]int{}
		typ := rota.NewPartitioner("sum", rota.Partitioner[struct{}]{List: numbers(3),
			Run: func(_ context.Context, g *rota.Grant, _ struct{}) error {
				mu.Lock()
				defer mu.Unlock()
				tries[string(g.Input)]++
				if string(g.Input) == "1" && g.Attempt == 0 {
					return errors.New("not yet")
				}
				return nil
			}})
		a := join(t, ctx, memory.New(), "a", typ)
		must.Succeed(t, a.Submit(ctx, "sum",
			rota.Task{Type: "sum", Spread: rota.Partitioned, Partitions: []string{"all"}, MaxAttempts: 3}))
		ended(t, ctx, a, "sum")
		if tries["0"] != 1 || tries["1"] != 2 || tries["2"] != 1 {
			t.Errorf("got %v tries", tries)
		}
	})
}

// BenchmarkPartitioner puts items that do nothing through a window of 256, on three members of one process that share a
// store in memory.
func BenchmarkPartitioner(b *testing.B) {
	ctx := b.Context()
	s := memory.New()
	typ := rota.NewPartitioner("sum", rota.Partitioner[struct{}]{Window: 256, MaxConcurrent: 16, List: numbers(b.N),
		Run: func(context.Context, *rota.Grant, struct{}) error { return nil }})
	var m *rota.Member
	for i := range 3 {
		var err error
		m, err = rota.Join(ctx, rota.Config{Member: fmt.Sprint("m", i), Store: s.Open(), Types: []rota.Type{typ}})
		must.Succeed(b, err)
		defer m.Leave(context.WithoutCancel(ctx))
	}
	b.ResetTimer()
	must.Succeed(b, m.Submit(ctx, "sum", rota.Task{Type: "sum", Spread: rota.Partitioned, Partitions: []string{"all"}}))
	must.Succeed(b, m.Wait(ctx, "sum"))
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
	b.ReportMetric(float64(m.Value().Applied())/float64(b.N), "entries/item")
	b.ReportMetric(float64(len(slices.Collect(m.Value().Partitions()))), "partitions-left")
}
