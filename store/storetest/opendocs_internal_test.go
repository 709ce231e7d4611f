package storetest

import (
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/rota-run/rota/store"
)

// call is one operation of a history that is written by hand.
func call(client int, begun, ended int64, in docsInput, out docsOutput) porcupine.Operation {
	in.key = "k"
	return porcupine.Operation{ClientId: client, Input: in, Output: out, Call: begun, Return: ended}
}

func lost(begun int64, in docsInput) porcupine.Operation {
	return call(0, begun, forever, in, docsOutput{err: store.ErrUnknown})
}

func sees(begun int64, value string, v store.Version) porcupine.Operation {
	out := docsOutput{value: value, version: v}
	if v == "" {
		out.err = store.ErrNotFound
	}
	return call(1, begun, begun+1, docsInput{op: "get"}, out)
}

// TestHistoriesWithOpenWrites holds the model against histories of one document. Version "1" of value "one" is there
// from the start.
func TestHistoriesWithOpenWrites(t *testing.T) {
	t.Parallel()
	created := call(0, 0, 1, docsInput{op: "put", doc: "one"}, docsOutput{version: "1"})
	update := docsInput{op: "put", doc: "two", version: "1"}
	remove := docsInput{op: "delete", version: "1"}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want bool
	}{
		"never happens":               {[]porcupine.Operation{lost(10, update), sees(20, "one", "1"), sees(90, "one", "1")}, true},
		"happens at once":             {[]porcupine.Operation{lost(10, update), sees(20, "two", "2")}, true},
		"happens late":                {[]porcupine.Operation{lost(10, update), sees(20, "one", "1"), sees(30, "two", "2")}, true},
		"happens before it was asked": {[]porcupine.Operation{sees(5, "two", "2"), lost(10, update)}, false},
		"happens, and is taken back": {[]porcupine.Operation{lost(10, update), sees(20, "two", "2"),
			sees(30, "one", "1")}, false},
		"happens twice": {[]porcupine.Operation{lost(10, update), sees(20, "two", "2"), sees(30, "two", "3")}, false},
		"is the reason for a conflict": {[]porcupine.Operation{lost(10, update),
			call(1, 20, 21, docsInput{op: "put", doc: "x", version: "1"}, docsOutput{err: store.ErrConflict})}, true},
		"a conflict without reason": {[]porcupine.Operation{call(1, 20, 21,
			docsInput{op: "put", doc: "x", version: "1"}, docsOutput{err: store.ErrConflict})}, false},
		"overtaken, and happens still": {[]porcupine.Operation{lost(10, update),
			call(1, 20, 21, docsInput{op: "put", doc: "x", version: "1"}, docsOutput{version: "3"}),
			sees(30, "two", "2")}, false},
		"a delete happens late": {[]porcupine.Operation{lost(10, remove), sees(20, "one", "1"),
			sees(30, "", "")}, true},
		"a delete is taken back": {[]porcupine.Operation{lost(10, remove), sees(20, "", ""),
			sees(30, "one", "1")}, false},
		"of two, one happens": {[]porcupine.Operation{lost(10, update),
			lost(11, docsInput{op: "put", doc: "2nd", version: "1"}), sees(30, "2nd", "2")}, true},
		"of two, both happen": {[]porcupine.Operation{lost(10, update),
			lost(11, docsInput{op: "put", doc: "2nd", version: "1"}), sees(30, "two", "2"), sees(40, "2nd", "3")},
			false},
		"an update at what nobody told": {[]porcupine.Operation{lost(10, update),
			call(1, 20, 21, docsInput{op: "put", doc: "x", version: "2"}, docsOutput{version: "3"})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperations(docsModel,
				append([]porcupine.Operation{created}, c.ops...)); got != c.want {
				t.Errorf("linearizable: %v, want %v", got, c.want)
			}
		})
	}
}

// TestOvertakenWritesAreLeftOut keeps an open write whose version nobody else has replaced, and one that others have
// read.
func TestOvertakenWritesAreLeftOut(t *testing.T) {
	t.Parallel()
	h := newHistory(false)
	h.ops = []porcupine.Operation{
		lost(10, docsInput{op: "put", doc: "x", version: "1"}),
		lost(11, docsInput{op: "put", doc: "y", version: "2"}),
		lost(12, docsInput{op: "put", doc: "z"}), // a creation: others may have created too, after a delete
		call(1, 20, 21, docsInput{op: "put", doc: "w", version: "1"}, docsOutput{version: "2"}),
		call(1, 22, 23, docsInput{op: "put", doc: "v"}, docsOutput{version: "9"}),
		lost(13, docsInput{op: "put", doc: "p", version: "3"}),
		lost(14, docsInput{op: "put", doc: "q", version: "3"}),
		sees(30, "p", "4"),
	}
	h.dropOvertaken()
	var left []string
	for _, op := range h.ops {
		left = append(left, op.Input.(docsInput).doc)
	}
	if !slices.Equal(left, []string{"y", "z", "w", "v", "p", ""}) {
		t.Errorf("left are %q, want all but x and q", left)
	}
}
