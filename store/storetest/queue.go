package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// Queue is the suite of store.Queue.
func Queue[S store.Queue](t *testing.T, open Open[S]) {
	runRules(t, open, refusing(func(t *test, s store.Queue) (calls, func()) {
		f := &flow{test: t, Queue: s}
		f.make(in, out, two)
		u, r := store.Unit{Name: "u", Outputs: []store.Put{{Shard: in}}},
			store.Receive{Shard: in, Limit: 1, Lease: lease}
		return calls{
			"commit":  func(ctx context.Context) error { return errOf(s.Commit(ctx, flowName, u)) },
			"receive": func(ctx context.Context) error { return errOf(s.Receive(ctx, flowName, r)) },
			"depth":   func(ctx context.Context) error { return errOf(s.Depth(ctx, flowName)) },
			"make":    func(ctx context.Context) error { return s.MakeFlow(ctx, "g", []store.Shard{in}) },
			"drop":    func(ctx context.Context) error { return s.DropFlow(ctx, flowName) },
		}, func() { f.depth(in, 0, 0, false) }
	}, append(flowRules(append(queueRules, commitRules...)...),
		rule[store.Queue]{"nothing comes after a seal", queueUnsealed})...)...)
}

// QueueJoins is the suite of commits with several inputs, which not every queue supports.
func QueueJoins[S store.Queue](t *testing.T, open Open[S]) {
	runRules(t, open, flowRules(joinRules...)...)
}

// flowRule is a rule of two handles of a flow that is made, with the shards in, out and two.
type flowRule struct {
	name string
	run  func(a, b *flow)
}

func flowRules(rules ...flowRule) (all []rule[store.Queue]) {
	for _, r := range rules {
		all = append(all, rule[store.Queue]{r.name, func(t *test, open func() store.Queue) {
			a := &flow{t, open(), open}
			a.make(in, out, two)
			r.run(a, a.another())
		}})
	}
	return all
}

// lease is long enough for no test to see its end; the end of a short one is waited for. A server may count in whole
// seconds.
const (
	lease = 10 * time.Minute
	short = time.Second
)

var (
	in   = store.Shard{Edge: "in/a"}
	out  = store.Shard{Edge: "a/b"}
	two  = store.Shard{Edge: "a/b", Number: 1}
	none = store.Shard{Edge: "none"}
)

const flowName = "count@7"

// flow is a handle on the flow that most rules use.
type flow struct {
	*test
	store.Queue
	open func() store.Queue
}

// another is another handle.
func (f *flow) another() *flow { return &flow{f.test, f.open(), f.open} }

func (f *flow) make(shards ...store.Shard) {
	f.Helper()
	f.succeed("make flow", f.MakeFlow(f.ctx, flowName, shards))
}

// to is an output.
func to(shard store.Shard, data string) store.Put { return store.Put{Shard: shard, Data: []byte(data)} }

// unit acknowledges messages, and puts something out.
func unit(inputs []store.Message, outputs ...store.Put) store.Unit {
	return store.Unit{Inputs: inputs, Outputs: outputs}
}

func seal(name string, shard store.Shard) store.Unit {
	return store.Unit{Name: name, Outputs: []store.Put{{Shard: shard, Seal: true}}}
}

// put stores messages in a shard, each as a unit of its own.
func (f *flow) put(shard store.Shard, data ...string) {
	f.Helper()
	for _, d := range data {
		name := fmt.Sprintf("put/%x-%d", d[:min(len(d), 40)], len(d))
		f.commits("put", true, store.Unit{Name: name,
			Outputs: []store.Put{{Shard: shard, Segments: 1, Data: []byte(d)}}})
	}
}

func (f *flow) commit(units ...store.Unit) []bool {
	f.Helper()
	fresh, err := f.Commit(f.ctx, flowName, units...)
	if err != nil || len(fresh) != len(units) {
		f.Fatalf("commit of %d units: %d answers, %v", len(units), len(fresh), err)
	}
	return fresh
}

// commits commits a unit, which is to count, or not.
func (f *flow) commits(what string, counts bool, u store.Unit) {
	f.Helper()
	if fresh := f.commit(u)[0]; fresh != counts {
		f.Fatalf("%s: it is said to count: %v", what, fresh)
	}
}

// refused wants a commit to be refused.
func (f *flow) refused(what string, want error, u store.Unit) {
	f.Helper()
	f.fails(what, errOf(f.Commit(f.ctx, flowName, u)), want)
}

func (f *flow) receive(r store.Receive) []store.Message {
	f.Helper()
	all, err := f.Receive(f.ctx, flowName, r)
	if err != nil || len(all) > r.Limit {
		f.Fatalf("receive: %d messages, limit was %d, %v", len(all), r.Limit, err)
	}
	for _, m := range all {
		if m.Shard != r.Shard || m.Number == 0 || m.Delivered < 1 && !r.Peek {
			f.Fatalf("receive of %v: message %+v", r.Shard, m)
		}
	}
	return all
}

// take receives n messages, in the order of their data; those of one delivery may be fewer.
func (f *flow) take(shard store.Shard, n int) (all []store.Message) {
	f.Helper()
	f.await(fmt.Sprintf("%d messages of %v", n, shard), func() bool {
		all = append(all, f.receive(store.Receive{Shard: shard, Limit: n - len(all), Lease: lease})...)
		return len(all) == n
	})
	return byData(all)
}

func byData(all []store.Message) []store.Message {
	slices.SortFunc(all, func(a, b store.Message) int { return bytes.Compare(a.Data, b.Data) })
	return all
}

func (f *flow) giveBack(messages []store.Message) {
	f.Helper()
	f.receive(store.Receive{Shard: messages[0].Shard, Return: messages})
}

func (f *flow) texts(what string, got []store.Message, want ...string) {
	f.Helper()
	var texts []string
	for _, m := range got {
		texts = append(texts, string(m.Data))
	}
	if !slices.Equal(texts, want) {
		f.Fatalf("%s: %.200q, want %.200q", what, texts, want)
	}
}

// takes takes messages with these data.
func (f *flow) takes(what string, shard store.Shard, want ...string) []store.Message {
	f.Helper()
	got := f.take(shard, len(want))
	f.texts(what, got, want...)
	return got
}

// empty: nothing is delivered. That it comes later would be seen by who asks for the depth.
func (f *flow) empty(shard store.Shard) {
	f.Helper()
	f.texts("delivered again", f.receive(store.Receive{Shard: shard, Limit: 10, Lease: lease}))
}

func (f *flow) depthOf(shard store.Shard) store.Depth {
	f.Helper()
	all, err := f.Depth(f.ctx, flowName, shard)
	if err != nil || len(all) != 1 || all[0].Shard != shard {
		f.Fatalf("depth of %v: %+v, %v", shard, all, err)
	}
	return all[0]
}

// depth waits until a shard is as far as this: a depth may lag, but must never be ahead.
func (f *flow) depth(shard store.Shard, stored, pending uint64, sealed bool) {
	f.Helper()
	f.await(fmt.Sprintf("%v has stored %d, pending %d, sealed %v", shard, stored, pending, sealed), func() bool {
		d := f.depthOf(shard)
		if d.Drained() && (!sealed || pending > 0) {
			f.Fatalf("%v is said to be drained: %+v", shard, d)
		}
		return d.Stored == stored && d.Pending == pending && d.Sealed == sealed
	})
}

var queueRules = []flowRule{
	{"make and drop", func(a, b *flow) {
		b.make(in, out, two)
		a.make(in, out, two)
		a.fails("make with other shards", b.MakeFlow(b.ctx, flowName, []store.Shard{in, out}), store.ErrConflict)
		a.put(in, "one")
		b.takes("the other handle", in, "one")
		receive := func(shard store.Shard) error {
			return errOf(a.Receive(a.ctx, flowName, store.Receive{Shard: shard, Limit: 1, Lease: lease}))
		}
		a.fails("receive from no shard", receive(none), store.ErrNotFound)
		for _, f := range []*flow{b, a} {
			f.succeed("drop", f.DropFlow(f.ctx, flowName))
		}
		a.fails("receive after the drop", receive(in), store.ErrNotFound)
		a.refused("commit after the drop", store.ErrNotFound,
			store.Unit{Name: "late", Outputs: []store.Put{{Shard: in}}})
		a.fails("depth after the drop", errOf(b.Depth(b.ctx, flowName)), store.ErrNotFound)
	}},
	{"bad flows", func(f, _ *flow) {
		refused := func(what string, err error) {
			if err == nil {
				f.Errorf("%s: no error", what)
			}
		}
		for what, shards := range map[string][]store.Shard{
			"": {in}, "a b": {in}, "no-shards": nil, "bad-edge": {{Edge: "a//b"}}, "twice": {in, in},
			"negative": {{Edge: "e", Number: -1}},
		} {
			refused(what, f.MakeFlow(f.ctx, what, shards))
		}
		for what, r := range map[string]store.Receive{
			"no lease": {Shard: in, Limit: 1}, "negative limit": {Shard: in, Limit: -1, Lease: lease},
			"another's message": {Shard: in, Lease: lease, Keep: []store.Message{{Shard: out, Number: 1}}},
		} {
			refused(what, errOf(f.Receive(f.ctx, flowName, r)))
		}
		for what, u := range map[string]store.Unit{
			"no name":        {Outputs: []store.Put{{Shard: out}}},
			"name and input": {Name: "x", Inputs: []store.Message{{Shard: in, Number: 1}}},
		} {
			refused(what, errOf(f.Commit(f.ctx, flowName, u)))
		}
		f.refused("output to no shard", store.ErrNotFound, store.Unit{Name: "x", Outputs: []store.Put{{Shard: none}}})
	}},
	{"receive and acknowledge", func(a, b *flow) {
		a.empty(in)
		a.put(in, "a", "b", "c")
		got := byData(append(a.take(in, 2), b.take(in, 1)...))
		a.texts("delivered", got, "a", "b", "c")
		for i, m := range got {
			if m.Delivered != 1 || m.Segments != 1 {
				a.Errorf("message %d: %+v", i, m)
			}
		}
		a.empty(in)
		b.empty(in)
		a.commit(unit(got[:1]), unit(got[1:2]), unit(got[2:]))
		a.depth(in, 3, 0, false)
		a.texts("limit 0", a.receive(store.Receive{Shard: in}))
	}},
	{"a lease ends", func(a, b *flow) {
		a.put(in, "one")
		var first []store.Message
		a.await("a delivery", func() bool {
			first = a.receive(store.Receive{Shard: in, Limit: 1, Lease: short})
			return len(first) == 1
		})
		again := b.takes("delivered again", in, "one")
		if again[0].Number != first[0].Number || again[0].Delivered < 2 {
			a.Fatalf("delivered again: %+v, first %+v", again[0], first[0])
		}
	}},
	{"a lease is kept", func(a, b *flow) {
		a.put(in, "kept", "mark")
		var kept, mark []store.Message
		a.await("a lease was kept before it ended", func() bool {
			got := a.take(in, 2)
			kept, mark = got[:1], got[1:]
			// The end of the mark's lease shows that the kept one's would have ended as well.
			began := time.Now()
			a.receive(store.Receive{Shard: in, Lease: short, Keep: kept})
			a.receive(store.Receive{Shard: in, Lease: short, Keep: mark})
			a.receive(store.Receive{Shard: in, Lease: lease, Keep: kept})
			inTime := time.Since(began) < short
			if !inTime { // this machine was too slow: both may have been given back
				a.giveBack(got)
			}
			return inTime
		})
		b.takes("what was not kept", in, "mark")
		b.empty(in)
		a.commits("what was kept", true, unit(kept))
	}},
	{"depth", func(f, _ *flow) {
		all, err := f.Depth(f.ctx, flowName)
		if err != nil || len(all) != 3 || all[0].Shard != in || all[1].Shard != out || all[2].Shard != two {
			f.Fatalf("depth of all: %+v, %v", all, err)
		}
		f.fails("depth of no shard", errOf(f.Depth(f.ctx, flowName, none)), store.ErrNotFound)
		f.put(in, "a", "b", "c")
		f.depth(in, 3, 3, false)
		got := f.take(in, 2)
		f.depth(in, 3, 3, false)
		f.commit(unit(got[:1], store.Put{Shard: out, Segments: 5}))
		f.depth(in, 3, 2, false)
		f.depth(out, 1, 1, false)
		if d := f.depthOf(out); d.Segments != 5 && d.Segments != 0 || d.PendingSegments != d.Segments {
			f.Errorf("segments: %+v, want 5 and 5, or nothing", d)
		}
	}},
	{"peek", func(f, _ *flow) {
		f.put(in, "a", "b", "c", "d")
		peek := func(after uint64, limit int) []store.Message {
			return f.receive(store.Receive{Shard: in, Peek: true, After: after, Limit: limit})
		}
		all := peek(0, 10)
		f.texts("all", all, "a", "b", "c", "d")
		f.texts("a page", peek(all[0].Number, 2), "b", "c")
		f.texts("behind the last", peek(all[3].Number, 2))
		f.takes("delivered", in, "a", "b", "c", "d")
		f.texts("while others have them", peek(0, 10), "a", "b", "c", "d")
	}},
	{"data of all sizes", func(f, _ *flow) {
		data := []string{"", "\x00\xff", strings.Repeat("ab", 100<<10)}
		f.put(in, data...)
		f.takes("sizes", in, data...)
		const largest = 896 << 10                 // bytes that a unit may put out on every store: what the stages of flows hold themselves to
		half := strings.Repeat("\xff", largest/2) // neither text nor compressed by any encoding
		f.commit(store.Unit{Name: "large", Outputs: []store.Put{to(in, half), to(out, half)}})
		f.takes("one half", in, half)
		f.takes("the other half", out, half)
	}},
	{"caller keeps its bytes", func(f, _ *flow) {
		u := store.Unit{Name: "u", Outputs: []store.Put{to(in, "mine")}}
		f.commit(u)
		copy(u.Outputs[0].Data, "XXXX")
		got := f.takes("after the maker's change", in, "mine")
		copy(got[0].Data, "YYYY")
		f.giveBack(got)
		f.takes("after the receiver's change", in, "mine")
	}},
	{"flows do not mix", func(f, _ *flow) {
		f.succeed("make another flow", f.MakeFlow(f.ctx, "count@8", []store.Shard{in}))
		f.put(in, "seven")
		got, err := f.Receive(f.ctx, "count@8", store.Receive{Shard: in, Limit: 1, Lease: lease})
		f.succeed("receive of the other flow", err)
		f.texts("the other flow", got)
		f.succeed("drop the other flow", f.DropFlow(f.ctx, "count@8"))
		f.takes("after the other was dropped", in, "seven")
	}},
	{"one reader gets what was written in its order", queueOrder},
}
