package doclog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// lagging are documents whose lists show what was there some lists ago.
type lagging struct {
	storetest.Full
	mu    sync.Mutex
	lists map[string][][]store.Doc
}

func (l *lagging) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	docs, err := l.Full.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lists[prefix] = append(l.lists[prefix], docs)
	return l.lists[prefix][max(0, len(l.lists[prefix])-3)], nil
}

// weather is a plan in which a call in so many fails, in one of several ways.
func weather(seed uint64, oneIn int) storetest.Plan {
	r := rand.New(rand.NewPCG(seed, 1))
	kinds := []storetest.Outcome{storetest.Refused, storetest.LostRequest, storetest.LostReply, storetest.Late}
	return func(storetest.Call) storetest.Outcome {
		if r.IntN(oneIn) > 0 {
			return storetest.Pass
		}
		return kinds[r.IntN(len(kinds))]
	}
}

// said is what appends said.
type said struct {
	mu   sync.Mutex
	done map[string]uint64
	not  map[string]bool
}

func (s *said) note(data string, index uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.done[data] = index
	case !errors.Is(err, store.ErrUnknown):
		s.not[data] = true
	}
}

// TestRandomFaults lets several processes append, read, save and trim at once while requests and answers get lost, arrive late, and lists lag. In the end
// what was acknowledged is there once, at its index, in each one's order, and what was said not to be done is not.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			server := memory.New()
			var handles []*storetest.Faulty
			open := func(i uint64) whole {
				f := storetest.NewFaulty(&lagging{Full: server.Open(), lists: map[string][][]store.Doc{}}, weather(seed*100+i, 12))
				handles = append(handles, f)
				return over(t, f, small())
			}
			s := &said{done: map[string]uint64{}, not: map[string]bool{}}
			var wg sync.WaitGroup
			for i := range uint64(3) {
				handle := open(i)
				wg.Go(func() { appendSome(ctx, handle, s, i) })
			}
			for i := range uint64(2) {
				handle := open(10 + i)
				wg.Go(func() { compactSome(t, ctx, handle) })
			}
			wg.Wait()
			for _, f := range handles {
				f.Release()
			}
			s.want(t, ctx, over(t, server.Open(), small()))
		})
	}
}

func appendSome(ctx context.Context, h store.Log, s *said, writer uint64) {
	for n := range 25 {
		data := fmt.Sprintf("%d.%d", writer, n)
		index, err := h.Append(ctx, []byte(data))
		s.note(data, index, err)
	}
}

// compactSome saves and trims; what fails is tried again in the next round.
func compactSome(t *testing.T, ctx context.Context, h store.Log) {
	for range 12 {
		err := compactAll(ctx, h)
		if errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
			t.Errorf("compact: %v", err)
		}
	}
}

func (s *said) want(t *testing.T, ctx context.Context, h store.Log) {
	t.Helper()
	all, err := contents(ctx, h)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	next := map[int]int{}
	for _, r := range all {
		data := string(r.Data)
		if at, twice := found[data]; twice {
			t.Errorf("%s stands at %d and at %d", data, at, r.Index)
		}
		found[data] = r.Index
		var writer, n int
		if _, err := fmt.Sscanf(data, "%d.%d", &writer, &n); err != nil {
			t.Fatal(err)
		}
		if s.done[data] != 0 && n < next[writer] {
			t.Errorf("%s stands behind %d.%d", data, writer, next[writer]-1)
		}
		if s.done[data] != 0 {
			next[writer] = n + 1
		}
	}
	for data, index := range s.done {
		if found[data] != index {
			t.Errorf("%s was acknowledged at %d, and stands at %d", data, index, found[data])
		}
	}
	for data := range s.not {
		if found[data] != 0 {
			t.Errorf("%s was said not to be appended, and stands at %d", data, found[data])
		}
	}
	if len(s.done) < 20 {
		t.Errorf("only %d appends were acknowledged", len(s.done))
	}
}
