package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rota-run/rota/store"
)

// queueZombie: who has returned a message returns it again when another has it, to no effect; and commits it after the
// other did, and after what that stored was taken.
func queueZombie[S store.Queue](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	makeFlow(t, ctx, a)
	putMessages(t, ctx, a, in, "kept", "one")
	old := take(t, ctx, a, in, 2)[1:]
	receive(t, ctx, a, store.Receive{Shard: in, Return: old})
	now := take(t, ctx, b, in, 1)
	wantTexts(t, "returned", now, "one")
	receive(t, ctx, a, store.Receive{Shard: in, Return: old})
	wantEmpty(t, ctx, a, in)
	wantEmpty(t, ctx, b, in)
	commit(t, ctx, b, store.Unit{Inputs: now, Outputs: []store.Put{{Shard: out, Data: []byte("b")}}})
	done := take(t, ctx, b, out, 1)
	wantTexts(t, "output", done, "b")
	commit(t, ctx, b, store.Unit{Inputs: done})
	if fresh := commit(t, ctx, a, store.Unit{Inputs: old, Outputs: []store.Put{{Shard: out, Data: []byte("a")}}}); fresh[0] {
		t.Error("the late commit is said to count")
	}
	wantDepth(t, ctx, a, out, 1, 0, false)
	wantEmpty(t, ctx, a, out)
}

func queueCommitRace[S store.Queue](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	const writers, rounds = 4, 8
	handles := make([]S, writers)
	for i := range handles {
		handles[i] = handle(t)
	}
	makeFlow(t, ctx, handles[0])
	for round := range rounds {
		putMessages(t, ctx, handles[0], in, fmt.Sprint("round ", round))
		got := take(t, ctx, handles[0], in, 1)
		fresh, errs := make([][]bool, writers), make([]error, writers)
		var wg sync.WaitGroup
		for i, s := range handles {
			wg.Go(func() {
				u := store.Unit{Inputs: got, Outputs: []store.Put{{Shard: out, Data: fmt.Appendf(nil, "%d/%d", round, i)}, {Shard: two, Data: fmt.Appendf(nil, "%d/%d", round, i)}}}
				fresh[i], errs[i] = s.Commit(ctx, flowName, u)
			})
		}
		wg.Wait()
		won := 0
		for i := range handles {
			if errs[i] != nil {
				t.Fatalf("commit %d: %v", i, errs[i])
			}
			if fresh[i][0] {
				won++
			}
		}
		if won > 1 {
			t.Fatalf("round %d: %d commits are said to count", round, won)
		}
		wantDepth(t, ctx, handles[0], out, uint64(round+1), 1, false)
		first, second := take(t, ctx, handles[0], out, 1), take(t, ctx, handles[0], two, 1)
		if string(first[0].Data) != string(second[0].Data) {
			t.Fatalf("round %d: halves of two commits: %q and %q", round, first[0].Data, second[0].Data)
		}
		commit(t, ctx, handles[0], store.Unit{Inputs: first}, store.Unit{Inputs: second})
	}
}

func queueNamedUnits[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	u := store.Unit{Name: "start/read", Outputs: []store.Put{{Shard: in, Data: []byte("first")}}}
	if fresh := commit(t, ctx, s, u); !fresh[0] {
		t.Error("the first commit is said to be a repeated one")
	}
	got := take(t, ctx, s, in, 1)
	commit(t, ctx, s, store.Unit{Inputs: got})
	u.Outputs[0].Data = []byte("second")
	if fresh := commit(t, ctx, s, u); fresh[0] {
		t.Error("the second commit is said to be the first")
	}
	wantDepth(t, ctx, s, in, 1, 0, false)
	wantEmpty(t, ctx, s, in)
}

// queueUnits commits several units in one call, of which one has counted before.
func queueUnits[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	putMessages(t, ctx, s, in, "a", "b")
	got := take(t, ctx, s, in, 2)
	unit := func(i int, data string) store.Unit {
		return store.Unit{Inputs: got[i : i+1], Outputs: []store.Put{{Shard: out, Segments: 2, Data: []byte(data)}}}
	}
	if fresh := commit(t, ctx, s, unit(0, "first")); !fresh[0] {
		t.Fatal("the first commit is said to be a repeated one")
	}
	if fresh := commit(t, ctx, s, unit(0, "second"), unit(1, "other")); fresh[0] || !fresh[1] {
		t.Fatalf("fresh: %v, want false and true", fresh)
	}
	wantDepth(t, ctx, s, in, 2, 0, false)
	wantDepth(t, ctx, s, out, 2, 2, false)
	wantTexts(t, "outputs", take(t, ctx, s, out, 2), "first", "other")
	wantEmpty(t, ctx, s, in)
}

func queueOutputs[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	putMessages(t, ctx, s, in, "x")
	got := take(t, ctx, s, in, 1)
	u := store.Unit{Inputs: got, Outputs: []store.Put{
		{Shard: out, Data: []byte("1")}, {Shard: two, Data: []byte("2")}, {Shard: out, Data: []byte("3")},
	}}
	commit(t, ctx, s, u)
	commit(t, ctx, s, u)
	wantTexts(t, "one shard", take(t, ctx, s, out, 2), "1", "3")
	wantTexts(t, "the other", take(t, ctx, s, two, 1), "2")
	wantDepth(t, ctx, s, out, 2, 2, false)
}

func queueSeal[S store.Queue](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	makeFlow(t, ctx, a)
	putMessages(t, ctx, a, out, "one")
	seal := func(name string) store.Unit {
		return store.Unit{Name: name, Outputs: []store.Put{{Shard: out, Seal: true}}}
	}
	commit(t, ctx, a, seal("seal/a"))
	commit(t, ctx, b, seal("seal/b"))
	commit(t, ctx, a, seal("seal/a"))
	wantDepth(t, ctx, b, out, 1, 1, true)
	got := take(t, ctx, b, out, 1)
	wantTexts(t, "before the seal", got, "one")
	if depth(t, ctx, a, out).Drained() {
		t.Fatal("a shard is drained whose message is not acknowledged")
	}
	commit(t, ctx, b, store.Unit{Inputs: got})
	awaitQueue(t, "the shard is drained", func() bool { return depth(t, ctx, a, out).Drained() })
	wantEmpty(t, ctx, a, out)
	commit(t, ctx, a, store.Unit{Name: "seal/two", Outputs: []store.Put{{Shard: two, Seal: true}}})
	awaitQueue(t, "an empty shard is drained", func() bool { return depth(t, ctx, b, two).Drained() })
	if depth(t, ctx, a, in).Sealed {
		t.Error("a shard is sealed that nobody has sealed")
	}
	wantError(t, "a message behind the seal",
		errOf(b.Commit(ctx, flowName, store.Unit{Name: "late", Outputs: []store.Put{{Shard: in, Data: []byte("x")}, {Shard: two, Data: []byte("x")}}})), store.ErrSealed)
	wantDepth(t, ctx, a, two, 0, 0, true)
	wantDepth(t, ctx, a, in, 0, 0, false)
}

func queueDepth[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	all, err := s.Depth(ctx, flowName)
	if err != nil || len(all) != 3 || all[0].Shard != in || all[1].Shard != out || all[2].Shard != two {
		t.Fatalf("depth of all: %+v, %v", all, err)
	}
	wantError(t, "depth of no shard", errOf(s.Depth(ctx, flowName, shardOf("none"))), store.ErrNotFound)
	putMessages(t, ctx, s, in, "a", "b", "c")
	wantDepth(t, ctx, s, in, 3, 3, false)
	got := take(t, ctx, s, in, 2)
	wantDepth(t, ctx, s, in, 3, 3, false)
	commit(t, ctx, s, store.Unit{Inputs: got[:1], Outputs: []store.Put{{Shard: out, Segments: 5}}})
	wantDepth(t, ctx, s, in, 3, 2, false)
	wantDepth(t, ctx, s, out, 1, 1, false)
	if d := depth(t, ctx, s, out); d.Segments != 5 && d.Segments != 0 || d.PendingSegments != d.Segments {
		t.Errorf("segments: %+v, want 5 and 5, or nothing", d)
	}
}

func queueJoin[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	putMessages(t, ctx, s, in, "a", "b")
	putMessages(t, ctx, s, two, "state")
	got := append(take(t, ctx, s, two, 1), take(t, ctx, s, in, 2)...)
	u := store.Unit{Inputs: got, Outputs: []store.Put{{Shard: two, Data: []byte("new state")}, {Shard: out, Data: []byte("sum")}}}
	if fresh := commit(t, ctx, s, u); !fresh[0] {
		t.Error("the first commit is said to be a repeated one")
	}
	wantDepth(t, ctx, s, in, 2, 0, false)
	wantDepth(t, ctx, s, two, 2, 1, false)
	wantTexts(t, "output", take(t, ctx, s, out, 1), "sum")
}

// queueJoinNamed: a unit whose first input was acknowledged does nothing, and acknowledges nothing.
func queueJoinNamed[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	putMessages(t, ctx, s, two, "state")
	putMessages(t, ctx, s, in, "a", "b")
	state, data := take(t, ctx, s, two, 1), take(t, ctx, s, in, 2)
	commit(t, ctx, s, store.Unit{Inputs: []store.Message{state[0], data[0]}})
	late := store.Unit{Inputs: []store.Message{state[0], data[1]}, Outputs: []store.Put{{Shard: out}}}
	if fresh := commit(t, ctx, s, late); fresh[0] {
		t.Error("the second commit is said to be the first")
	}
	wantDepth(t, ctx, s, in, 2, 1, false)
	wantDepth(t, ctx, s, out, 0, 0, false)
}

// queueEachOnce: workers with short leases, some of which forget what they took, move everything once.
func queueEachOnce[S store.Queue](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	const workers, messages = 4, 60
	first := handle(t)
	makeFlow(t, ctx, first)
	for i := range messages {
		putMessages(t, ctx, first, in, fmt.Sprintf("%03d", i))
	}
	commit(t, ctx, first, store.Unit{Name: "seal", Outputs: []store.Put{{Shard: in, Seal: true}}})
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		s := handle(t)
		wg.Go(func() { errs[w] = mover[S]{s, w}.run(ctx) })
	}
	wg.Wait()
	for w, err := range errs {
		if err != nil {
			t.Fatalf("worker %d: %v", w, err)
		}
	}
	got := take(t, ctx, first, out, messages)
	for i, m := range got {
		if string(m.Data) != fmt.Sprintf("%03d", i) {
			t.Fatalf("output %d is %q", i, m.Data)
		}
	}
	wantDepth(t, ctx, first, out, messages, messages, false)
}
