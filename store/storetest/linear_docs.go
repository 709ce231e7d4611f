package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rota-run/rota/store"
)

// history records what concurrent clients saw.
type history struct {
	mu    sync.Mutex
	began time.Time
	ops   []porcupine.Operation
}

func newHistory() *history { return &history{began: time.Now()} }

// doAll runs one call that is several operations, all of which happen within it, and records each.
func (h *history) doAll(client, n int, input func(i int) any, call func(), output func(i int) any) {
	start := time.Since(h.began).Nanoseconds()
	call()
	end := time.Since(h.began).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range n {
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: input(i), Output: output(i), Call: start, Return: end})
	}
}

func (h *history) check(t *testing.T, model porcupine.Model) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(model, h.ops, patience)
	switch result {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		t.Fatalf("the check of %d operations did not end within %v", len(h.ops), patience)
	}
	for _, op := range h.ops {
		t.Logf("%d–%d client %d: %s", op.Call, op.Return, op.ClientId, model.DescribeOperation(op.Input, op.Output))
	}
	longest := 0
	for _, partial := range info.PartialLinearizationsOperations() {
		for _, ops := range partial {
			longest = max(longest, len(ops))
		}
	}
	t.Fatalf("not linearizable: at most %d of %d operations fit one order; the history is above", longest, len(h.ops))
}

type docsInput struct {
	op, key string
	doc     string        // value that is put
	version store.Version // that is expected
}

type docsOutput struct {
	version store.Version
	value   string
	err     error // one of the sentinels, or an unexpected one
}

// register is one document: version "" means that there is none.
type register struct {
	version store.Version
	value   string
}

// docsModel is the sequential specification of one document.
var docsModel = porcupine.Model{
	Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range ops {
			key := op.Input.(docsInput).key
			byKey[key] = append(byKey[key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		return docsStep(state.(register), input.(docsInput), output.(docsOutput))
	},
	DescribeOperation: func(input, output any) string {
		in, out := input.(docsInput), output.(docsOutput)
		return fmt.Sprintf("%s %s %q at %q → %q at %q, %v", in.op, in.key, in.doc, in.version, out.value, out.version, out.err)
	},
}

func docsStep(r register, in docsInput, out docsOutput) (bool, any) {
	switch {
	case in.op == "get" && out.err == nil:
		return r == register{out.version, out.value} && r.version != "", r
	case in.op == "get":
		return errors.Is(out.err, store.ErrNotFound) && r.version == "", r
	case in.op == "put" && out.err == nil:
		return r.version == in.version, register{out.version, in.doc}
	case in.op == "put":
		return errors.Is(out.err, store.ErrConflict) && r.version != in.version, r
	case out.err == nil:
		return r.version == in.version && r.version != "", register{}
	case errors.Is(out.err, store.ErrNotFound):
		return r.version == "", r
	}
	return errors.Is(out.err, store.ErrConflict) && r.version != in.version && r.version != "", r
}

func docsLinearizable[S store.Docs](t *testing.T, open Open[S]) {
	s := calm()
	calls, _ := docsCalls[S](s, 2)
	atOnce(t, open, 6, 40, calls)
	s.h.check(t, docsModel)
}

// calm is a storm in which nothing breaks, so that no error is left out.
func calm() *storm { return &storm{h: newHistory(), calm: true} }

// atOnce lets clients, each with a handle of its own, make calls at once, and returns another handle.
func atOnce[S any](t *testing.T, open Open[S], clients, each int, call calling[S]) (context.Context, S) {
	t.Helper()
	handle, ctx := open(t), deadline(t)
	var wg sync.WaitGroup
	for c := range clients {
		s := handle(t)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(c), 7))
			for n := range each {
				call(ctx, s, c, n, r)
			}
		})
	}
	wg.Wait()
	return ctx, handle(t)
}
