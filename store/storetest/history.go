package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rota-run/rota/store"
)

// history is what clients saw.
type history struct {
	began time.Time
	calm  bool // nothing breaks: each call has an outcome

	mu   sync.Mutex
	ops  []porcupine.Operation
	open int   // operations with an unknown outcome
	odd  error // what no call may say in the calm
}

func newHistory(calm bool) *history { return &history{began: time.Now(), calm: calm} }

func (h *history) now() int64 { return time.Since(h.began).Nanoseconds() }

// forever is later than any return: the call may still take effect.
const forever = int64(1) << 60

// entry is an operation: what was asked for, and what came of it.
type entry struct{ in, out any }

// note takes up a call that began at a time and has returned, as its operations: none where it is known that nothing
// was done, open-ended ones where that is unknown.
func (h *history) note(client int, began int64, err error, entries ...entry) {
	end := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	unknown := errors.Is(err, store.ErrUnknown)
	told := err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)
	switch {
	case h.calm && (unknown || !told):
		h.odd = err
	case unknown:
		h.open++
		end = forever
	case !told:
		return
	}
	for _, e := range entries {
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: e.in, Output: e.out, Call: began,
			Return: end})
	}
}

func (h *history) check(t *test, model porcupine.Model) {
	t.Helper()
	if h.odd != nil {
		t.Errorf("nothing breaks, and yet a call said: %v", h.odd)
	}
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

// The clients of a history: the number through their own links, and the number with direct connections. Those of a
// suite are not more.
const (
	clientsThrough = 3
	clientsDirect  = 3
)

// calling makes the n-th call of a client.
type calling[C any] func(ctx context.Context, client C, number, n int, r *rand.Rand)

// together lets all do something at the same time.
func together[A any](all []A, do func(i int, a A)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, a := range all {
		wg.Go(func() { <-start; do(i, a) })
	}
	close(start)
	wg.Wait()
}

// atOnce lets clients, each with a handle of its own, make calls at once, and returns another handle.
func atOnce[C any](t *test, open func() C, clients, each int, call calling[C]) C {
	all := make([]C, clients)
	for i := range all {
		all[i] = open()
	}
	together(all, func(i int, s C) {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		for n := range each {
			call(t.ctx, s, i, n, r)
		}
	})
	return open()
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

// register is one document: version "" means that there is none, or that it is a guess: nobody was told it yet, because
// the answer to the write was lost.
type register struct {
	version store.Version
	value   string
	guess   bool
}

// docsModel is the sequential specification of one document. A write with an unknown outcome may happen at any time
// after its call, or never: which is to happen behind everything that was seen.
var docsModel = porcupine.Model{
	Partition: func(ops []porcupine.Operation) (parts [][]porcupine.Operation) {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range ops {
			key := op.Input.(docsInput).key
			byKey[key] = append(byKey[key], op)
		}
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
		return fmt.Sprintf("%s %s %.40q at %q → %.40q at %q, %v", in.op, in.key, in.doc, in.version, out.value,
			out.version, out.err)
	},
}

func docsStep(r register, in docsInput, out docsOutput) (bool, any) {
	// Nobody can expect a version that nobody was told: whoever learned it did so by a get, which ends the guess.
	current, there, puts := !r.guess && r.version == in.version, r.guess || r.version != "", in.op == "put"
	switch {
	case errors.Is(out.err, store.ErrUnknown):
		return docsLost(r, in, current)
	case in.op == "get" && out.err == nil:
		same := out.version != "" && (r.guess || out.version == r.version)
		return same && out.value == r.value, register{version: out.version, value: out.value}
	case puts && out.err == nil:
		return current, register{version: out.version, value: in.doc}
	case out.err == nil:
		return current && there, register{}
	case errors.Is(out.err, store.ErrNotFound):
		return !there && !puts, r
	}
	return in.op != "get" && errors.Is(out.err, store.ErrConflict) && !current && (there || puts), r
}

// docsLost is a write with an unknown outcome that happens now, or comes too late.
func docsLost(r register, in docsInput, current bool) (bool, any) {
	switch {
	case !current:
		return true, r
	case in.op == "put":
		return true, register{value: in.doc, guess: true}
	}
	return in.op == "delete", register{}
}

// docsDo makes a call, and notes it; puts are by another one than docs where a session makes them.
func (h *history) docsDo(ctx context.Context, client int, docs store.Docs, by putter, in docsInput) (out docsOutput) {
	start := h.now()
	switch in.op {
	case "get":
		var d store.Doc
		d, out.err = docs.Get(ctx, in.key)
		out.version, out.value = d.Version, string(d.Value)
	case "put":
		out.version, out.err = by.Put(ctx, store.Doc{Key: in.key, Value: []byte(in.doc), Version: in.version})
	case "delete":
		out.err = docs.Delete(ctx, in.key, in.version)
	}
	h.note(client, start, out.err, entry{in, out})
	return out
}

// docsCalls makes calls at random on a few documents; each client knows the versions that it saw last.
func docsCalls(h *history, keys int) func(context.Context, store.Docs, int, int, *rand.Rand) {
	known := make([]map[string]store.Version, clientsThrough+clientsDirect)
	for i := range known {
		known[i] = map[string]store.Version{}
	}
	unknown := make([]int, len(known)) // writes in a row: in a long outage, more of them make the check no sharper
	return func(ctx context.Context, docs store.Docs, client, n int, r *rand.Rand) {
		key := fmt.Sprint("k", r.IntN(keys))
		in := docsInput{op: "get", key: key, version: known[client][key]}
		switch r.IntN(8) {
		case 0, 1, 2, 3:
			in.op, in.doc = "put", fmt.Sprintf("%d.%d", client, n)
		case 4:
			in.op = "delete"
		}
		if unknown[client] >= 2 {
			in = docsInput{op: "get", key: key}
		}
		out := h.docsDo(ctx, client, docs, docs, in)
		if in.op == "get" || out.err == nil {
			known[client][key] = out.version
		}
		if errors.Is(out.err, store.ErrUnknown) {
			unknown[client]++
		} else if out.err == nil || errors.Is(out.err, store.ErrNotFound) {
			unknown[client] = 0
		}
	}
}

// see makes a call of a witness, to whose server nothing is broken.
func (h *history) see(t *test, witness store.Docs, in docsInput) docsOutput {
	t.Helper()
	out := h.docsDo(t.ctx, -1, witness, witness, in)
	if out.err != nil && !errors.Is(out.err, store.ErrNotFound) && !errors.Is(out.err, store.ErrConflict) {
		t.Fatalf("%s %q by the witness: %v", in.op, in.key, out.err)
	}
	return out
}

// checkDocs looks at all documents once more, and checks the history.
func (h *history) checkDocs(t *test, witness store.Docs) {
	t.Helper()
	keys := map[string]bool{}
	for _, op := range h.ops {
		keys[op.Input.(docsInput).key] = true
	}
	for key := range keys { // order-free: they are apart
		h.see(t, witness, docsInput{op: "get", key: key})
	}
	h.dropOvertaken()
	h.check(t, docsModel)
}

// dropOvertaken leaves out writes that are known not to have happened, by what others saw: who wrote at the same
// version was the only one who did, since a version never comes back. He was told so, or others have read what he
// wrote. Each open-ended write that stays makes the check dearer by a factor.
func (h *history) dropOvertaken() {
	type at struct {
		key     string
		version store.Version
	}
	taken, read := map[at]bool{}, map[[2]string]bool{}
	for _, op := range h.ops {
		if in, out := op.Input.(docsInput), op.Output.(docsOutput); in.op == "get" {
			read[[2]string{in.key, out.value}] = true
		}
	}
	happened := func(in docsInput) bool { return in.op == "put" && in.doc != "" && read[[2]string{in.key, in.doc}] }
	for _, op := range h.ops {
		in, out := op.Input.(docsInput), op.Output.(docsOutput)
		if in.version != "" && in.op != "get" && (out.err == nil || op.Return == forever && happened(in)) {
			taken[at{in.key, in.version}] = true
		}
	}
	h.ops = slices.DeleteFunc(h.ops, func(op porcupine.Operation) bool {
		in := op.Input.(docsInput)
		return op.Return == forever && taken[at{in.key, in.version}] && !happened(in)
	})
}

type logInput struct {
	data  string // "": a read
	after uint64
	limit int
}

type logRecord struct {
	index uint64
	data  string
}

type logOutput struct {
	index   uint64 // of the append
	records []logRecord
	head    uint64
	err     error
}

// logModel is the sequential specification of a log without trimming; its state is all records.
var logModel = porcupine.Model{
	Init: func() any { return []logRecord(nil) },
	Step: func(state, input, output any) (bool, any) {
		return logStep(state.([]logRecord), input.(logInput), output.(logOutput))
	},
	Equal: func(a, b any) bool { return slices.Equal(a.([]logRecord), b.([]logRecord)) },
	DescribeOperation: func(input, output any) string {
		in, out := input.(logInput), output.(logOutput)
		if in.data != "" {
			return fmt.Sprintf("append %.40q → %d, %v", in.data, out.index, out.err)
		}
		return fmt.Sprintf("read after %d → %.200v head %d, %v", in.after, out.records, out.head, out.err)
	},
}

func logStep(all []logRecord, in logInput, out logOutput) (bool, any) {
	last := uint64(0)
	if len(all) > 0 {
		last = all[len(all)-1].index
	}
	switch {
	case out.err != nil:
		return false, all
	case in.data != "":
		return out.index > last, append(slices.Clip(all), logRecord{out.index, in.data})
	case out.head != last:
		return false, all
	}
	first := slices.IndexFunc(all, func(r logRecord) bool { return r.index > in.after })
	if first < 0 || len(out.records) == 0 {
		return first < 0 && len(out.records) == 0, all
	}
	behind := all[first:]
	return len(out.records) <= len(behind) && slices.Equal(out.records, behind[:len(out.records)]), all
}

// logDo appends or reads, and notes it.
func (h *history) logDo(ctx context.Context, client int, log store.Log, in logInput) (out logOutput) {
	start := h.now()
	if in.data != "" {
		out.index, out.err = log.Append(ctx, []byte(in.data))
	} else {
		var page store.Page
		page, out.err = log.Read(ctx, in.after, in.limit)
		out.head, out.records = page.Head, recordsOf(page.Records)
	}
	h.note(client, start, out.err, entry{in, out})
	return out
}

func recordsOf(records []store.Record) (all []logRecord) {
	for _, r := range records {
		all = append(all, logRecord{r.Index, string(r.Data)})
	}
	return all
}

// logCalls appends and reads near the end at random.
func logCalls(h *history) func(context.Context, store.Log, int, int, *rand.Rand) {
	after := make([]uint64, clientsThrough+clientsDirect)
	return func(ctx context.Context, log store.Log, client, n int, r *rand.Rand) {
		in := logInput{after: after[client], limit: 1 + r.IntN(20)}
		if r.IntN(2) == 0 {
			in = logInput{data: fmt.Sprintf("%d.%d", client, n)}
		}
		if out := h.logDo(ctx, client, log, in); len(out.records) > 0 {
			after[client] = out.records[len(out.records)-1].index
		}
	}
}

// checkLog appends and reads the whole log, which shows the appends with unknown outcomes, and checks the history.
func (h *history) checkLog(t *test, witness store.Log) {
	t.Helper()
	t.succeed("append of the witness",
		h.logDo(t.ctx, -1, witness, logInput{data: fmt.Sprint("the end of ", h.now())}).err)
	start := h.now()
	all := recordsOf(t.all(witness, 0, 1000))
	found := map[string]uint64{}
	for _, r := range all {
		if at, twice := found[r.data]; twice {
			t.Errorf("%.40q stands in the log twice, at %d and %d", r.data, at, r.index)
		}
		found[r.data] = r.index
	}
	h.ops = slices.DeleteFunc(h.ops, func(op porcupine.Operation) bool {
		return op.Return == forever && found[op.Input.(logInput).data] == 0
	})
	for i, op := range h.ops {
		in, out := op.Input.(logInput), op.Output.(logOutput)
		switch {
		case errors.Is(out.err, store.ErrUnknown):
			h.ops[i].Output, h.ops[i].Return = logOutput{index: found[in.data]}, h.now()
		case in.data != "" && out.err == nil && found[in.data] != out.index:
			t.Errorf("%.40q was acknowledged at %d, and stands at %d", in.data, out.index, found[in.data])
		}
	}
	h.note(-1, start, nil, entry{logInput{limit: 1000}, logOutput{records: all, head: all[len(all)-1].index}})
	h.check(t, logModel)
}

// opens is how many operations of a history have an unknown outcome, of how many.
func (h *history) opens(t *testing.T) {
	t.Helper()
	t.Logf("%d operations, %d of them with unknown outcome", len(h.ops), h.open)
}
