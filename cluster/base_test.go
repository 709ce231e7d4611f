package cluster

import (
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// written is a log of n entries, each with the base of a writer that lags by lag entries, and the values that lead
// through it.
func written(t *testing.T, n, lag int) []Value {
	t.Helper()
	values := []Value{{}}
	for i := range n {
		v, from := values[i], values[max(0, i-lag)]
		e := Entry{Index: v.index + 3, Writer: "w", Seq: uint64(i + 1), BaseIndex: from.index, BaseChain: from.chain,
			Commands: []Command{Configure{Retention: int64(i + 1)}}}
		next, done := v.Apply(e)
		if done.Foreign != "" || !done.Results[0].Accepted {
			t.Fatalf("entry %d of a writer that lags by %d: %+v", i, lag, done)
		}
		values = append(values, next)
	}
	return values
}

func TestHonestWritersAreNeverForeign(t *testing.T) {
	t.Parallel()
	for lag := range 3 * BaseEvery {
		written(t, 2*BaseEvery, lag)
	}
}

// Whoever loads a snapshot of an even value refuses the same entries as everybody else, and no entry of another history
// does anything while its base is in the window.
func TestForeignEntriesAreRefusedByAllAlike(t *testing.T) {
	t.Parallel()
	values := written(t, 3*BaseEvery, 1)
	for at := BaseEvery; at < len(values); at++ {
		v := values[at]
		loaded := must.Get(DecodeSnapshot(values[at/BaseEvery*BaseEvery].Snapshot()))(t)
		for _, w := range values[at/BaseEvery*BaseEvery+1 : at+1] {
			loaded.index, loaded.chain, loaded.applied = w.index, w.chain, w.applied
			loaded.passed()
		}
		honest := Entry{Index: v.index + 1, Writer: "y", Seq: 1, BaseIndex: v.index, BaseChain: v.chain}
		if _, done := v.Apply(honest); done.Foreign != "" { // others were applied to the value before it, too
			t.Fatalf("after %d records, an entry of this history: %s", at, done.Foreign)
		}
		for back := range min(at, BaseEvery+2) {
			base := values[at-back]
			for _, e := range []Entry{
				{BaseIndex: base.index, BaseChain: base.chain + 1},
				{BaseIndex: base.index - 1, BaseChain: base.chain},
				{BaseIndex: v.index + 1 + Index(back), BaseChain: base.chain},
			} {
				e.Index, e.Writer, e.Seq, e.Commands = v.index+1, "x", 1, []Command{Configure{Retention: 7777}}
				next, done := v.Apply(e)
				_, there := loaded.Apply(e)
				what := fmt.Sprintf("after %d records, base %d back at %d", at, back, e.BaseIndex)
				if done.Foreign != there.Foreign {
					t.Fatalf("%s: %q here and %q from a snapshot", what, done.Foreign, there.Foreign)
				}
				inWindow := e.BaseIndex >= values[at/BaseEvery*BaseEvery].index
				if (done.Foreign != "") != inWindow || inWindow &&
					(next.digest != v.digest || done.Results[0].Accepted) {
					t.Fatalf("%s: %+v, in the window: %v", what, done, inWindow)
				}
			}
		}
	}
}

// The table of writers is bounded: those that were silent for longest are forgotten.
func TestSilentWritersAreForgotten(t *testing.T) {
	t.Parallel()
	v := Value{}
	for i := range maxWriters + 1 {
		v, _ = v.Apply(Entry{Index: v.index + 1, Writer: WriterID(fmt.Sprint(i)), Seq: 7})
	}
	for writer, seq := range map[WriterID]uint64{"0": 0, "1024": 0, "1025": 7, "4096": 7} {
		if got := v.Wrote(writer); got != seq {
			t.Errorf("writer %s wrote %d, want %d", writer, got, seq)
		}
	}
	mustBeWhole(t, v)
}

func TestSnapshotHead(t *testing.T) {
	t.Parallel()
	v := written(t, 5, 1)[5]
	index, chain, err := SnapshotHead(v.Snapshot())
	if index != v.index || chain != v.chain || err != nil {
		t.Errorf("got %d, %s, %v, want %d, %s", index, chain, err, v.index, v.chain)
	}
	if _, _, err := SnapshotHead([]byte{1, 2, 3}); err == nil {
		t.Error("garbage has a head")
	}
}
