package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/rota-run/rota/store"
)

// guessed is a register whose version nobody was told yet, because the answer to the write was lost.
type guessed struct {
	register
	guess bool
}

// openDocsModel is docsModel where a write with an unknown outcome may happen at any time after its call, or never: which is to happen
// behind everything that was seen.
var openDocsModel = porcupine.Model{
	Partition:         docsModel.Partition,
	Init:              func() any { return guessed{} },
	DescribeOperation: docsModel.DescribeOperation,
	Step: func(state, input, output any) (bool, any) {
		return openDocsStep(state.(guessed), input.(docsInput), output.(docsOutput))
	},
}

func openDocsStep(r guessed, in docsInput, out docsOutput) (bool, any) {
	current := !r.guess && r.version == in.version
	switch {
	case errors.Is(out.err, store.ErrUnknown) && !current:
		return true, r
	case errors.Is(out.err, store.ErrUnknown) && in.op == "put":
		return true, guessed{register{value: in.doc}, true}
	case errors.Is(out.err, store.ErrUnknown):
		return true, guessed{}
	case !r.guess:
		ok, next := docsStep(r.register, in, out)
		return ok, guessed{register: next.(register)}
	case in.op == "get":
		return out.err == nil && out.version != "" && out.value == r.value, guessed{register: register{out.version, out.value}}
	}
	// Nobody can expect a version that nobody was told: whoever learned it did so by a get, which comes before and ends the guess.
	return errors.Is(out.err, store.ErrConflict), r
}

// docsCalls makes calls at random on a few documents; each client knows the versions that it saw last.
func docsCalls[S store.Docs](s *storm, keys int) (call calling[S], known []map[string]store.Version) {
	known = make([]map[string]store.Version, stormThrough+stormDirect)
	for i := range known {
		known[i] = map[string]store.Version{}
	}
	return func(ctx context.Context, docs S, client, n int, r *rand.Rand) {
		key := fmt.Sprint("k", r.IntN(keys))
		in := docsInput{op: "get", key: key, version: known[client][key]}
		switch r.IntN(8) {
		case 0, 1, 2, 3:
			in.op, in.doc = "put", fmt.Sprintf("%d.%d", client, n)
		case 4:
			in.op = "delete"
		}
		s.record(client, in, func() (any, error) {
			out := docsDo(ctx, docs, in)
			if in.op == "get" || out.err == nil {
				known[client][key] = out.version
			}
			return out, out.err
		})
	}, known
}

func docsDo(ctx context.Context, docs store.Docs, in docsInput) (out docsOutput) {
	switch in.op {
	case "get":
		var d store.Doc
		d, out.err = docs.Get(ctx, in.key)
		out.version, out.value = d.Version, string(d.Value)
	case "put":
		out.version, out.err = docs.Put(ctx, store.Doc{Key: in.key, Value: []byte(in.doc), Version: in.version})
	case "delete":
		out.err = docs.Delete(ctx, in.key, in.version)
	}
	return out
}

// checkDocs looks at all documents once more, and checks the history.
func (s *storm) checkDocs(t *testing.T, ctx context.Context, witness store.Docs) {
	t.Helper()
	for k := range 6 {
		in := docsInput{op: "get", key: fmt.Sprint("k", k)}
		s.record(-1, in, func() (any, error) { out := docsDo(ctx, witness, in); return out, out.err })
	}
	s.dropOvertaken()
	s.h.check(t, openDocsModel)
}

// dropOvertaken leaves out writes that are known not to have happened, by what others saw: who wrote at the same version with success was the
// only one who did, since a version never comes back. Each open-ended write that stays makes the check dearer by a factor.
func (s *storm) dropOvertaken() {
	type at struct {
		key     string
		version store.Version
	}
	taken := map[at]bool{}
	for _, op := range s.h.ops {
		in, out := op.Input.(docsInput), op.Output.(docsOutput)
		if in.op != "get" && out.err == nil && in.version != "" {
			taken[at{in.key, in.version}] = true
		}
	}
	s.h.ops = slices.DeleteFunc(s.h.ops, func(op porcupine.Operation) bool {
		in := op.Input.(docsInput)
		return op.Return == forever && taken[at{in.key, in.version}]
	})
}
