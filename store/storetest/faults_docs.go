package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
)

// change makes a change of a document, by somebody, while the link is broken. What it says and what the witness sees
// afterwards go into the history, and the document is closed to writes that come late.
func (b *bench[C]) change(h *history, breaks outage, docs, witness store.Docs, by putter,
	in docsInput) (out docsOutput) {
	b.Helper()
	what := fmt.Sprintf("%s of %s while the link is %s", in.op, in.key, breaks.name)
	b.during(breaks.make, func() {
		_ = b.ask(what, func(ctx context.Context) error {
			out = h.docsDo(ctx, 0, docs, by, in)
			return out.err
		})
	})
	b.judge(what, out.err)
	now := h.see(b.test, witness, docsInput{op: "get", key: in.key})
	h.see(b.test, witness, docsInput{op: "put", key: in.key, doc: "fence", version: now.version})
	return out
}

// changes are one of each kind, on documents of their own. The values fill more than one packet's header.
func changes(t *test, h *history, witness store.Docs, tag string) (all []docsInput) {
	for _, op := range []string{"create", "update", "delete"} {
		in := docsInput{op: "put", key: "f/" + op + "/" + tag, doc: strings.Repeat(op+" ", 300)}
		if op != "create" {
			in.version = h.see(t, witness, docsInput{op: "put", key: in.key, doc: "before"}).version
		}
		if op == "delete" {
			in.op = op
		}
		all = append(all, in)
	}
	return all
}

func docsCut(b *bench[store.Docs]) {
	h := newHistory(false)
	for _, m := range moments() {
		for _, in := range changes(b.test, h, b.witness, m.name) {
			b.change(h, m, b.through, b.witness, b.through, in)
		}
	}
	h.opens(b.T)
	h.checkDocs(b.test, b.witness)
}

// docsAgain breaks the link in all ways, one after the other: a change says what came of it, the answer to who asks for
// what exists may be missing and not wrong, and the same handle works after each.
func docsAgain(b *bench[store.Docs]) {
	h, v := newHistory(false), b.put(b.witness, "k/a", "0", "")
	for i, o := range outages() {
		for _, in := range changes(b.test, h, b.witness, strings.ReplaceAll(o.name, " ", "-")) {
			if out := b.change(h, o, b.through, b.witness, b.through, in); out.err == nil {
				b.Errorf("%s of %s while the link is %s: no error", in.op, in.key, o.name)
			}
		}
		b.during(o.make, func() {
			b.noAnswer(o.name, calls{
				"get":  func(ctx context.Context) error { return errOf(b.through.Get(ctx, "k/a")) },
				"list": func(ctx context.Context) error { return errOf(b.through.List(ctx, "k/")) },
			})
		})
		b.doc(b.through, "k/a", fmt.Sprint(i), v)
		v = b.put(b.through, "k/a", fmt.Sprint(i+1), v)
		b.doc(b.witness, "k/a", fmt.Sprint(i+1), v)
		b.listed(b.through, "k/", "k/a")
	}
	h.checkDocs(b.test, b.witness)
}

// logged appends while a call may break, and notes what it said.
func (b *bench[C]) logged(h *history, log store.Log, data string) (out logOutput) {
	b.Helper()
	what := fmt.Sprintf("append of %.40q", data)
	_ = b.ask(what, func(ctx context.Context) error {
		out = h.logDo(ctx, 0, log, logInput{data: data})
		return out.err
	})
	b.judge(what, out.err)
	return out
}

func logCut(b *bench[store.Log]) {
	h := newHistory(false)
	for round := range 2 {
		for _, m := range moments() {
			b.during(m.make, func() {
				b.logged(h, b.through, fmt.Sprintf("%s in round %d%s", m.name, round, strings.Repeat(".", 1000)))
			})
			b.logged(h, b.through, fmt.Sprintf("behind %s in round %d", m.name, round))
		}
	}
	h.checkLog(b.test, b.witness)
}

// logAgain breaks the link in all ways, one after the other: each append says what came of it, nothing that is asked
// for is wrong, and the same handle works after each.
func logAgain(b *bench[store.Log]) {
	h := newHistory(false)
	first := h.logDo(b.ctx, -1, b.witness, logInput{data: "first"}).index
	for _, o := range outages() {
		b.during(o.make, func() {
			for i := range 3 {
				if out := b.logged(h, b.through, fmt.Sprintf("append %d while %s", i, o.name)); out.err == nil {
					b.Errorf("append while the link is %s: no error", o.name)
				}
			}
			b.noAnswer(o.name, calls{
				"read":     func(ctx context.Context) error { return errOf(b.through.Read(ctx, 0, 10)) },
				"snapshot": func(ctx context.Context) error { return present(errOf(b.through.Snapshot(ctx))) },
			})
			snapshot := store.Record{Index: first, Data: []byte("state")}
			for name, call := range map[string]func(context.Context) error{ // order-free: each is judged alone
				"save": func(ctx context.Context) error { return b.through.SaveSnapshot(ctx, snapshot) },
				"trim": func(ctx context.Context) error { return b.through.Trim(ctx, 0) },
			} {
				b.judge(name+" while the link is "+o.name, b.ask(name, call))
			}
		})
		for i := range 2 {
			data := fmt.Sprintf("append %d after it was %s", i, o.name)
			b.succeed(data, h.logDo(b.ctx, 0, b.through, logInput{data: data}).err)
		}
	}
	h.logDo(b.ctx, 0, b.through, logInput{limit: 1000})
	h.checkLog(b.test, b.witness)
}

// snapshotCut cuts while a snapshot of more than one request of most stores is sent: what is read is whole, the new one
// or the one before.
func snapshotCut(b *bench[store.Log]) {
	old, index := store.Record{}, uint64(0)
	for i, bytesBefore := range []int64{200, 100_000, 900_000, 1_600_000, 2_400_000} {
		index = b.append(b.witness, fmt.Sprint(i))
		next := store.Record{Index: index, Data: bytes.Repeat([]byte(fmt.Sprintf("state %d ", i)), 300_000)}
		b.warm(b.through)
		b.link.CutRequests(bytesBefore)
		said := b.ask("save", func(ctx context.Context) error { return b.through.SaveSnapshot(ctx, next) })
		b.heal()
		if errors.Is(said, store.ErrTooLarge) {
			b.Skipf("the store takes no snapshot of %d bytes", len(next.Data))
		}
		b.judge("save", said)
		b.warm(b.through)
		got, err := b.witness.Snapshot(b.ctx)
		if err != nil && (!errors.Is(err, store.ErrNotFound) || old.Index != 0) {
			b.Fatalf("snapshot: %v", err)
		}
		isNext, isOld := got.Index == next.Index, got.Index == old.Index
		switch {
		case isNext && !bytes.Equal(got.Data, next.Data), isOld && !bytes.Equal(got.Data, old.Data), !isNext && !isOld:
			b.Fatalf("snapshot at %d of %d bytes is neither that of %d nor that of %d", got.Index, len(got.Data),
				old.Index, next.Index)
		case said == nil && !isNext, said != nil && !errors.Is(said, store.ErrUnknown) && isNext:
			b.Errorf("save said %v; the snapshot is at %d, it was to be at %d", said, got.Index, next.Index)
		}
		old = got
	}
	b.again("save", func(ctx context.Context) error {
		return b.through.SaveSnapshot(ctx, store.Record{Index: index, Data: []byte("last")})
	})
	if got, err := b.witness.Snapshot(b.ctx); err != nil || got.Index != index || old.Index != index &&
		string(got.Data) != "last" {
		b.Errorf("at the end the snapshot is %d bytes at %d, %v; want that at %d", len(got.Data), got.Index, err, index)
	}
}

// unsent asks for changes while there is no connection, and none can be made. Nothing was sent, so nothing is unknown,
// and nothing comes later.
func unsent(b *bench[store.Full]) {
	v := b.put(b.witness, "f/a", "one", "")
	b.warm(b.through)
	b.link.Refuse()
	b.link.Cut()
	for range 10 { // until the handle has noticed
		b.noAnswer("cut", calls{"get": func(ctx context.Context) error { return errOf(b.through.Get(ctx, "f/a")) }})
	}
	for i := range 3 {
		created, updated := store.Doc{Key: fmt.Sprint("f/", i)}, store.Doc{Key: "f/a", Value: []byte("two"), Version: v}
		for what, call := range map[string]func(context.Context) error{ // order-free: each is judged alone
			"append": func(ctx context.Context) error { return errOf(b.through.Append(ctx, []byte("never"))) },
			"create": func(ctx context.Context) error { return errOf(b.through.Put(ctx, created)) },
			"update": func(ctx context.Context) error { return errOf(b.through.Put(ctx, updated)) },
			"delete": func(ctx context.Context) error { return b.through.Delete(ctx, "f/a", v) },
		} {
			err := b.ask(what, call)
			batched := what == "append" && errors.Is(err, stoppedError{}) // who goes does not know whether the batch has gone
			if err == nil || errors.Is(err, store.ErrUnknown) && !batched {
				b.Errorf("%s without a connection: error %v: nothing was sent", what, err)
			}
		}
	}
	b.heal()
	b.warm(b.through)
	b.doc(b.witness, "f/a", "one", v)
	b.data("what was never sent", b.all(b.witness, 0, 10))
}
