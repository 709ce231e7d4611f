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
	runRules(t, open, append([]rule[S]{
		{"make and drop", queueMakeDrop[S]},
		{"bad flows", queueBadFlows[S]},
		{"receive and acknowledge", queueReceive[S]},
		{"a lease ends", queueLeaseEnds[S]},
		{"a lease is kept", queueKeep[S]},
		{"one commit of a unit counts", queueUnits[S]},
		{"a late commit changes nothing", queueZombie[S]},
		{"concurrent commits of one unit", queueCommitRace[S]},
		{"units without inputs", queueNamedUnits[S]},
		{"several outputs are one fact", queueOutputs[S]},
		{"seal once", queueSeal[S]},
		{"nothing comes after a seal", queueUnsealed[S]},
		{"one reader gets what was written in its order", queueOrder[S]},
		{"depth", queueDepth[S]},
		{"peek", queuePeek[S]},
		{"data of all sizes", queueSizes[S]},
		{"caller keeps its bytes", queueOwnership[S]},
		{"flows do not mix", queueFlowsApart[S]},
		{"every segment once", queueEachOnce[S]},
	}, refusing(queueRefuse[S])...))
}

// QueueJoins is the suite of commits with several inputs, which not every queue supports.
func QueueJoins[S store.Queue](t *testing.T, open Open[S]) {
	runRules(t, open, []rule[S]{
		{"several inputs are one fact", queueJoin[S]},
		{"the first input names the unit", queueJoinNamed[S]},
	})
}

// lease is long enough for no test to see its end.
const lease = 10 * time.Minute

// shardOf is one shard of the flow that most rules use.
func shardOf(edge string) store.Shard { return store.Shard{Edge: edge} }

var (
	in  = shardOf("in/a")
	out = shardOf("a/b")
	two = store.Shard{Edge: "a/b", Number: 1}
)

const flowName = "count@7"

// flowOf makes the flow on a fresh store.
func flowOf[S store.Queue](t *testing.T, open Open[S]) (S, context.Context) {
	t.Helper()
	s, ctx := single(t, open)
	makeFlow(t, ctx, s)
	return s, ctx
}

func makeFlow(t *testing.T, ctx context.Context, s store.Queue) {
	t.Helper()
	succeed(t, "make flow", s.MakeFlow(ctx, flowName, []store.Shard{in, out, two}))
}

// putMessages stores messages in a shard, each as a unit of its own.
func putMessages(t *testing.T, ctx context.Context, s store.Queue, shard store.Shard, data ...string) {
	t.Helper()
	for _, d := range data {
		u := store.Unit{Name: "put/" + nameText(d), Outputs: []store.Put{{Shard: shard, Segments: 1, Data: []byte(d)}}}
		if fresh := commit(t, ctx, s, u); !fresh[0] {
			t.Fatalf("put %q: it was there", d)
		}
	}
}

// nameText makes a name of data.
func nameText(d string) string {
	return fmt.Sprintf("%x", d[:min(len(d), 40)]) + "-" + fmt.Sprint(len(d))
}

func commit(t *testing.T, ctx context.Context, s store.Queue, units ...store.Unit) []bool {
	t.Helper()
	fresh, err := s.Commit(ctx, flowName, units...)
	succeed(t, "commit", err)
	if len(fresh) != len(units) {
		t.Fatalf("commit of %d units: %d answers", len(units), len(fresh))
	}
	return fresh
}

func receive(t *testing.T, ctx context.Context, s store.Queue, r store.Receive) []store.Message {
	t.Helper()
	all, err := s.Receive(ctx, flowName, r)
	succeed(t, "receive", err)
	if len(all) > r.Limit {
		t.Fatalf("receive: %d messages, limit was %d", len(all), r.Limit)
	}
	for _, m := range all {
		if m.Shard != r.Shard || m.Number == 0 || m.Delivered < 1 && !r.Peek {
			t.Fatalf("receive of %v: message %+v", r.Shard, m)
		}
	}
	return all
}

// take receives n messages; those of one delivery may be fewer.
func take(t *testing.T, ctx context.Context, s store.Queue, shard store.Shard, n int) []store.Message {
	t.Helper()
	var all []store.Message
	awaitQueue(t, fmt.Sprintf("%d messages of %v", n, shard), func() bool {
		all = append(all, receive(t, ctx, s, store.Receive{Shard: shard, Limit: n - len(all), Lease: lease})...)
		return len(all) == n
	})
	return byData(all)
}

func byData(all []store.Message) []store.Message {
	slices.SortFunc(all, func(a, b store.Message) int { return bytes.Compare(a.Data, b.Data) })
	return all
}

// awaitQueue asks until it is so. What a server delivers may take a moment to come.
func awaitQueue(t *testing.T, what string, ask func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !ask() {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond) // waits: between two looks at a condition; only a failure waits for the end
	}
}

func wantTexts(t *testing.T, what string, got []store.Message, want ...string) {
	t.Helper()
	texts := make([]string, len(got))
	for i, m := range got {
		texts[i] = string(m.Data)
	}
	if !slices.Equal(texts, want) {
		t.Fatalf("%s: %.200q, want %.200q", what, texts, want)
	}
}

// wantEmpty: nothing is delivered. That it comes later would be seen by who asks for the depth.
func wantEmpty(t *testing.T, ctx context.Context, s store.Queue, shard store.Shard) {
	t.Helper()
	if got := receive(t, ctx, s, store.Receive{Shard: shard, Limit: 10, Lease: lease}); len(got) > 0 {
		t.Fatalf("%v delivers %.100q again", shard, got[0].Data)
	}
}

func depth(t *testing.T, ctx context.Context, s store.Queue, shard store.Shard) store.Depth {
	t.Helper()
	all, err := s.Depth(ctx, flowName, shard)
	if err != nil || len(all) != 1 || all[0].Shard != shard {
		t.Fatalf("depth of %v: %+v, %v", shard, all, err)
	}
	return all[0]
}

// wantDepth waits until a shard is as far as this: a depth may lag, but must never be ahead.
func wantDepth(t *testing.T, ctx context.Context, s store.Queue, shard store.Shard, stored, pending uint64, sealed bool) {
	t.Helper()
	awaitQueue(t, fmt.Sprintf("%v has stored %d, pending %d, sealed %v", shard, stored, pending, sealed), func() bool {
		d := depth(t, ctx, s, shard)
		if d.Drained() && (!sealed || pending > 0) {
			t.Fatalf("%v is said to be drained: %+v", shard, d)
		}
		return d.Stored == stored && d.Pending == pending && d.Sealed == sealed
	})
}

func queueMakeDrop[S store.Queue](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	a, b := handle(t), handle(t)
	shards := []store.Shard{in, out, two}
	for _, s := range []S{a, b, a} {
		succeed(t, "make", s.MakeFlow(ctx, flowName, shards))
	}
	wantError(t, "make with other shards", b.MakeFlow(ctx, flowName, shards[:2]), store.ErrConflict)
	putMessages(t, ctx, a, in, "one")
	wantTexts(t, "the other handle", take(t, ctx, b, in, 1), "one")
	wantError(t, "receive from no shard",
		errOf(a.Receive(ctx, flowName, store.Receive{Shard: shardOf("none"), Limit: 1, Lease: lease})), store.ErrNotFound)
	for _, s := range []S{b, a} {
		succeed(t, "drop", s.DropFlow(ctx, flowName))
	}
	wantError(t, "receive after the drop",
		errOf(a.Receive(ctx, flowName, store.Receive{Shard: in, Limit: 1, Lease: lease})), store.ErrNotFound)
	wantError(t, "commit after the drop",
		errOf(a.Commit(ctx, flowName, store.Unit{Name: "late", Outputs: []store.Put{{Shard: in}}})), store.ErrNotFound)
	wantError(t, "depth after the drop", errOf(b.Depth(ctx, flowName)), store.ErrNotFound)
}

func queueBadFlows[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	for what, f := range map[string]struct {
		name   string
		shards []store.Shard
	}{
		"no name": {"", []store.Shard{in}}, "bad name": {"a b", []store.Shard{in}}, "no shards": {"f", nil}, "bad edge": {"f", []store.Shard{shardOf("a//b")}},
		"twice": {"f", []store.Shard{in, in}}, "negative": {"f", []store.Shard{{Edge: "e", Number: -1}}},
	} {
		if err := s.MakeFlow(ctx, f.name, f.shards); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	makeFlow(t, ctx, s)
	for what, r := range map[string]store.Receive{
		"no lease": {Shard: in, Limit: 1}, "negative limit": {Shard: in, Limit: -1, Lease: lease},
		"another's message": {Shard: in, Lease: lease, Keep: []store.Message{{Shard: out, Number: 1}}},
	} {
		if _, err := s.Receive(ctx, flowName, r); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for what, u := range map[string]store.Unit{
		"no name": {Outputs: []store.Put{{Shard: out}}}, "name and input": {Name: "x", Inputs: []store.Message{{Shard: in, Number: 1}}},
	} {
		if _, err := s.Commit(ctx, flowName, u); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	wantError(t, "output to no shard",
		errOf(s.Commit(ctx, flowName, store.Unit{Name: "x", Outputs: []store.Put{{Shard: shardOf("none")}}})), store.ErrNotFound)
}

func queueReceive[S store.Queue](t *testing.T, open Open[S]) {
	s, other, ctx := pair(t, open)
	makeFlow(t, ctx, s)
	wantEmpty(t, ctx, s, in)
	putMessages(t, ctx, s, in, "a", "b", "c")
	got := byData(append(take(t, ctx, s, in, 2), take(t, ctx, other, in, 1)...))
	wantTexts(t, "delivered", got, "a", "b", "c")
	for i, m := range got {
		if m.Delivered != 1 || m.Segments != 1 {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	wantEmpty(t, ctx, s, in)
	wantEmpty(t, ctx, other, in)
	commit(t, ctx, s, store.Unit{Inputs: got[:1]}, store.Unit{Inputs: got[1:2]}, store.Unit{Inputs: got[2:]})
	wantDepth(t, ctx, s, in, 3, 0, false)
	if got := receive(t, ctx, s, store.Receive{Shard: in}); len(got) > 0 {
		t.Errorf("limit 0 delivers %d", len(got))
	}
}

// largestUnit is how many bytes a unit may put out on every store: what the stages of flows hold themselves to.
const largestUnit = 896 << 10

func queueSizes[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	data := []string{"", "\x00\xff", strings.Repeat("ab", 100<<10)}
	putMessages(t, ctx, s, in, data...)
	wantTexts(t, "sizes", take(t, ctx, s, in, 3), data...)
	half := strings.Repeat("\xff", largestUnit/2) // neither text nor compressed by any encoding
	both := []store.Put{{Shard: in, Data: []byte(half)}, {Shard: out, Data: []byte(half)}}
	commit(t, ctx, s, store.Unit{Name: "large", Outputs: both})
	wantTexts(t, "one half", take(t, ctx, s, in, 1), half)
	wantTexts(t, "the other half", take(t, ctx, s, out, 1), half)
}

func queueOwnership[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	data := []byte("mine")
	if _, err := s.Commit(ctx, flowName, store.Unit{Name: "u", Outputs: []store.Put{{Shard: in, Data: data}}}); err != nil {
		t.Fatal(err)
	}
	copy(data, "XXXX")
	got := take(t, ctx, s, in, 1)
	wantTexts(t, "after the maker's change", got, "mine")
	copy(got[0].Data, "YYYY")
	receive(t, ctx, s, store.Receive{Shard: in, Return: got})
	wantTexts(t, "after the receiver's change", take(t, ctx, s, in, 1), "mine")
}

func queueFlowsApart[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	succeed(t, "make another flow", s.MakeFlow(ctx, "count@8", []store.Shard{in}))
	putMessages(t, ctx, s, in, "seven")
	if got, err := s.Receive(ctx, "count@8", store.Receive{Shard: in, Limit: 1, Lease: lease}); err != nil || len(got) > 0 {
		t.Fatalf("the other flow delivers %d, %v", len(got), err)
	}
	succeed(t, "drop the other flow", s.DropFlow(ctx, "count@8"))
	wantTexts(t, "after the other was dropped", take(t, ctx, s, in, 1), "seven")
}

func queueRefuse[S store.Queue](t *testing.T, ctx context.Context, s S) (all calls, unchanged func()) {
	makeFlow(t, ctx, s)
	u := store.Unit{Name: "u", Outputs: []store.Put{{Shard: in}}}
	r := store.Receive{Shard: in, Limit: 1, Lease: lease}
	return calls{
		"commit":  func(ctx context.Context) error { return errOf(s.Commit(ctx, flowName, u)) },
		"receive": func(ctx context.Context) error { return errOf(s.Receive(ctx, flowName, r)) },
		"depth":   func(ctx context.Context) error { return errOf(s.Depth(ctx, flowName)) },
		"make":    func(ctx context.Context) error { return s.MakeFlow(ctx, "g", []store.Shard{in}) },
		"drop":    func(ctx context.Context) error { return s.DropFlow(ctx, flowName) },
	}, func() { wantDepth(t, ctx, s, in, 0, 0, false) }
}
