package stage

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// first is a queue whose units have one input, and on which somebody else was first with each of them.
type first struct {
	store.Queue
	committed []store.Unit
}

func (f *first) Commit(_ context.Context, _ string, units ...store.Unit) ([]bool, error) {
	if len(units[0].Inputs) > 1 {
		return nil, errors.ErrUnsupported
	}
	f.committed = append(f.committed, units...)
	return make([]bool, len(units)), nil
}

// Where another worker had the same state and was first, the messages of this one are in no state: they are not acknowledged, and go back.
func TestSecondOwnerAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	queue := &first{}
	w := &worker{grant: &work.Grant{Log: slog.New(slog.DiscardHandler)}, flow: work.Flow{Name: "f", Queue: queue}}
	chain, edge := store.Shard{Edge: "chain/b"}, store.Shard{Edge: "edge/a/b"}
	w.held = []store.Message{{Shard: chain, Number: 1}, {Shard: edge, Number: 7}}
	turn := &turn{w: w, inputs: w.held[1:]}
	if err := turn.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(queue.committed) != 1 || queue.committed[0].Inputs[0].Shard != chain {
		t.Errorf("committed %+v, want the state alone", queue.committed)
	}
	if len(w.held) != 2 {
		t.Errorf("holds %+v, want all, to give them back", w.held)
	}
}

// A state has the messages that were noted, in whatever order, also after it was written and read; and those in a row need no room.
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
