package stage

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// first is a queue on which somebody else was first with each unit.
type first struct {
	store.Queue
	single    bool // units have one input
	committed []store.Unit
}

func (f *first) Commit(_ context.Context, _ string, units ...store.Unit) ([]bool, error) {
	if f.single && len(units[0].Inputs) > 1 {
		return nil, errors.ErrUnsupported
	}
	f.committed = append(f.committed, units...)
	return make([]bool, len(units)), nil
}

// Where another worker had the same state and was first, the messages of this one are in no state: they are not
// acknowledged, and go back. So the state names the unit.
func TestSecondOwnerAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	for _, single := range []bool{false, true} {
		queue := &first{single: single}
		w := &worker{grant: &work.Grant{Log: slog.New(slog.DiscardHandler)}, flow: supervisor.Flow{Queue: queue}}
		chain, edge := store.Shard{Edge: "chain/b"}, store.Shard{Edge: "edge/a/b"}
		w.held = []store.Message{{Shard: chain, Number: 1}, {Shard: edge, Number: 7}}
		must.Succeed(t, (&turn{w: w, inputs: w.held[1:]}).settle(t.Context()))
		if len(queue.committed) != 1 || queue.committed[0].Inputs[0].Shard != chain {
			t.Errorf("committed %+v, want the state first", queue.committed)
		}
		if len(w.held) != 2 {
			t.Errorf("holds %+v, want all, to give them back", w.held)
		}
	}
}

// A state has the messages that were noted, in whatever order, also after it was written and read; and those in a row
// need no room.
func TestStateNotes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 0))
		s, want := state{data: []byte("x")}, map[uint64]bool{}
		for _, i := range chance.Perm(60) {
			n := uint64(i) + 1 //nolint:gosec // small
			if chance.IntN(4) > 0 {
				s.note(store.Message{Shard: store.Shard{Edge: "e"}, Number: n})
				want[n] = true
			}
		}
		back, err := decodeState(s.encode())
		if err != nil || string(back.data) != "x" {
			t.Fatalf("%q, %v", back.data, err)
		}
		spans := 0
		for n := uint64(1); n < 62; n++ {
			if got := back.has(store.Message{Shard: store.Shard{Edge: "e"}, Number: n}); got != want[n] {
				t.Errorf("seed %d: has message %d: %v", seed, n, got)
			}
			if want[n] && !want[n-1] {
				spans++
			}
		}
		if len(back.done["e"]) != spans {
			t.Errorf("seed %d: %d spans, want %d: %v", seed, len(back.done["e"]), spans, back.done)
		}
	}
}

// TestStatesThatNobodyWrote: what is not a state is not taken for one.
func TestStatesThatNobodyWrote(t *testing.T) {
	t.Parallel()
	part := func(s string) []byte { return AppendSegment(nil, []byte(s)) }
	for _, b := range [][]byte{
		slices.Concat(part("x"), part("{}"), part("y")), append(part("x"), 9),
		slices.Concat(part("x"), part("no JSON")), {2, 'x'}, {0x80},
	} {
		if s, err := decodeState(b); !errors.Is(err, errBatch) {
			t.Errorf("%q is %+v, %v", b, s, err)
		}
	}
	if l, err := ReadLetter([]byte("no JSON")); err == nil {
		t.Errorf("a letter is %+v", l)
	}
}

// A batch that fails rests longer each time, and never longer than a lease.
func TestRestOfABatchThatFailed(t *testing.T) {
	t.Parallel()
	for times, want := range map[int]time.Duration{1: 200 * time.Millisecond, 3: 800 * time.Millisecond,
		5: 3200 * time.Millisecond, 9: lease, 1000: lease} {
		if got := backoff(times); got != want {
			t.Errorf("after %d times: %v, want %v", times, got, want)
		}
	}
}

// keeping is a queue that notes when leases were made longer.
type keeping struct {
	store.Queue
	kept []time.Time
}

func (k *keeping) Receive(_ context.Context, _ string, r store.Receive) ([]store.Message, error) {
	if len(r.Keep) > 0 && r.Lease == lease {
		k.kept = append(k.kept, time.Now())
	}
	return nil, nil
}

// A function that works for longer than a lease keeps it: twice in each lease at least, so that one request may be
// lost.
func TestALongBatchKeepsItsLease(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		q := &keeping{kept: []time.Time{time.Now()}}
		w := &worker{grant: &work.Grant{Log: slog.New(slog.DiscardHandler)}, flow: supervisor.Flow{Queue: q},
			held: []store.Message{{Number: 1}}}
		stop := w.keepLeases(t.Context())
		time.Sleep(4 * lease)
		stop()
		q.kept = append(q.kept, time.Now())
		for i, at := range q.kept[1:] {
			if rest := at.Sub(q.kept[i]); rest > lease/2 {
				t.Errorf("the lease of %v was not kept for %v", lease, rest)
			}
		}
	})
}
