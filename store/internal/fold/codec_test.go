package fold

import (
	"bytes"
	"testing"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// TestVersions: a version is written in one way alone.
func TestVersions(t *testing.T) {
	t.Parallel()
	for v, want := range map[driver.Version]uint64{"": 0, "1": 1, "z": 35, "10": 36, "01": never, "0": never,
		"Z": never, "-1": never} { // order-free: each is judged alone
		if got := indexOf(v); got != want {
			t.Errorf("%q is %d, want %d", v, got, want)
		}
	}
}

// FuzzApply applies two records of any bytes: nothing panics, what is decoded is encoded again, and a snapshot holds
// the state.
func FuzzApply(f *testing.F) {
	put := op{kind: kindPut, name: "n.1", key: "a/b", value: []byte("v")}.encode()
	f.Add([]byte(nil), []byte("x"))
	f.Add(put, op{kind: kindDelete, name: "n.2", key: "a/b", expect: 1}.encode())
	f.Add(put, op{kind: kindFree, name: "n.2", key: "a", value: []byte("b")}.encode())
	f.Add(op{kind: kindMark, name: "n.1"}.encode(), op{kind: kindBeat, name: "n.2", key: "a", expect: never}.encode())
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var s state
		for i, b := range [][]byte{first, second} {
			s.apply(store.Record{Index: uint64(i + 1), Data: b})
			if o, ok := decodeOp(b); ok {
				again, ok := decodeOp(o.encode())
				if !ok || again.kind != o.kind || again.name != o.name || again.key != o.key ||
					again.expect != o.expect || !bytes.Equal(again.value, o.value) {
					t.Fatalf("%+v became %+v", o, again)
				}
			}
		}
		read, err := decodeState(store.Record{Index: s.applied, Data: s.encode()})
		if err != nil || ordered.Len(&read.rows) != ordered.Len(&s.rows) || !bytes.Equal(read.encode(), s.encode()) {
			t.Fatalf("a snapshot of %q: %q, %v", s.encode(), read.encode(), err)
		}
	})
}

// FuzzState reads snapshots of any bytes.
func FuzzState(f *testing.F) {
	var s state
	ordered.Set(&s.rows, "a", row{"n", []byte("v"), 300})
	f.Add(s.encode())
	f.Add([]byte(format + "\x01a"))
	f.Add([]byte("another format"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeState(store.Record{Index: 7, Data: b})
		if err == nil && (s.applied != 7 || len(s.encode()) > len(b)) {
			t.Fatalf("the snapshot at 7 is at %d, and %q became %q", s.applied, b, s.encode())
		}
	})
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/internal/fold", "-test.timeout", "20s")
}
