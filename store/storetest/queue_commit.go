package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
)

var commitRules = []flowRule{
	{"one commit of a unit counts", func(f, _ *flow) { // several units in one call, of which one has counted before
		f.put(in, "a", "b")
		got := f.take(in, 2)
		of := func(i int, data string) store.Unit {
			return unit(got[i:i+1], store.Put{Shard: out, Segments: 2, Data: []byte(data)})
		}
		f.commits("the first commit", true, of(0, "first"))
		if fresh := f.commit(of(0, "second"), of(1, "other")); fresh[0] || !fresh[1] {
			f.Fatalf("fresh: %v, want false and true", fresh)
		}
		f.depth(in, 2, 0, false)
		f.depth(out, 2, 2, false)
		f.takes("outputs", out, "first", "other")
		f.empty(in)
	}},
	{"a late commit changes nothing", func(a, b *flow) { // of who has returned a message, and returns it again when another has it
		a.put(in, "kept", "one")
		old := a.take(in, 2)[1:]
		a.giveBack(old)
		now := b.takes("returned", in, "one")
		a.giveBack(old)
		a.empty(in)
		b.empty(in)
		b.commit(unit(now, to(out, "b")))
		b.commit(unit(b.takes("output", out, "b")))
		a.commits("the late commit", false, unit(old, to(out, "a")))
		a.depth(out, 1, 0, false)
		a.empty(out)
	}},
	{"units without inputs", func(f, _ *flow) {
		u := func(data string) store.Unit {
			return store.Unit{Name: "start/read", Outputs: []store.Put{to(in, data)}}
		}
		f.commits("the first commit", true, u("first"))
		f.commit(unit(f.take(in, 1)))
		f.commits("the second commit", false, u("second"))
		f.depth(in, 1, 0, false)
		f.empty(in)
	}},
	{"several outputs are one fact", func(f, _ *flow) {
		f.put(in, "x")
		u := unit(f.take(in, 1), to(out, "1"), to(two, "2"), to(out, "3"))
		f.commit(u)
		f.commit(u)
		f.takes("one shard", out, "1", "3")
		f.takes("the other", two, "2")
		f.depth(out, 2, 2, false)
	}},
	{"seal once", func(a, b *flow) {
		a.put(out, "one")
		a.commit(seal("seal/a", out))
		b.commit(seal("seal/b", out))
		a.commit(seal("seal/a", out))
		b.depth(out, 1, 1, true)
		got := b.takes("before the seal", out, "one")
		if a.depthOf(out).Drained() {
			a.Fatal("a shard is drained whose message is not acknowledged")
		}
		b.commit(unit(got))
		a.await("the shard is drained", func() bool { return a.depthOf(out).Drained() })
		a.empty(out)
		a.commit(seal("seal/two", two))
		b.await("an empty shard is drained", func() bool { return b.depthOf(two).Drained() })
		if a.depthOf(in).Sealed {
			a.Error("a shard is sealed that nobody has sealed")
		}
		b.refused("a message behind the seal", store.ErrSealed,
			store.Unit{Name: "late", Outputs: []store.Put{to(in, "x"), to(two, "x")}})
		a.depth(two, 0, 0, true)
		a.depth(in, 0, 0, false)
	}},
	{"concurrent commits of one unit", commitRace},
	{"every segment once", queueEachOnce},
}

var joinRules = []flowRule{
	{"several inputs are one fact", func(f, _ *flow) {
		f.put(in, "a", "b")
		f.put(two, "state")
		f.commits("the first commit", true, unit(append(f.take(two, 1), f.take(in, 2)...), to(two, "new state"),
			to(out, "sum")))
		f.depth(in, 2, 0, false)
		f.depth(two, 2, 1, false)
		f.takes("output", out, "sum")
	}},
	{"the first input names the unit", func(f, _ *flow) { // one whose first input was acknowledged does nothing, and acknowledges nothing
		f.put(two, "state")
		f.put(in, "a", "b")
		state, data := f.take(two, 1), f.take(in, 2)
		f.commit(unit([]store.Message{state[0], data[0]}))
		f.commits("the second commit", false, unit([]store.Message{state[0], data[1]}, to(out, "")))
		f.depth(in, 2, 1, false)
		f.depth(out, 0, 0, false)
	}},
}

func commitRace(a, b *flow) {
	handles := []*flow{a, b, a.another(), a.another()}
	for round := range 8 {
		a.put(in, fmt.Sprint("round ", round))
		got := a.take(in, 1)
		fresh, errs := make([][]bool, len(handles)), make([]error, len(handles))
		together(handles, func(i int, f *flow) {
			data := fmt.Sprintf("%d/%d", round, i)
			fresh[i], errs[i] = f.Commit(f.ctx, flowName, unit(got, to(out, data), to(two, data)))
		})
		a.succeed("commit", errors.Join(errs...))
		won := 0
		for i := range handles {
			if fresh[i][0] {
				won++
			}
		}
		if won > 1 {
			a.Fatalf("round %d: %d commits are said to count", round, won)
		}
		a.depth(out, uint64(round+1), 1, false)
		first, second := a.take(out, 1), a.take(two, 1)
		a.texts("halves of two commits", second, string(first[0].Data))
		a.commit(unit(first), unit(second))
	}
}

// queueUnsealed: a unit and the seal of its output's shard are written at the same time. Either the unit is refused, or
// who sees the seal sees its message.
func queueUnsealed(t *test, open func() store.Queue) {
	writer, sealer := &flow{test: t, Queue: open()}, &flow{test: t, Queue: open()}
	shards := []store.Shard{in}
	for i := range 12 {
		shards = append(shards, store.Shard{Edge: "race", Number: i})
	}
	writer.make(shards...)
	for round, shard := range shards[1:] {
		writer.put(in, fmt.Sprint("round ", round))
		got := writer.take(in, 1)
		var written, sealed error
		var seen []store.Depth
		together([]*flow{writer, sealer}, func(_ int, f *flow) {
			if f == writer {
				_, written = f.Commit(t.ctx, flowName, unit(got, to(shard, "x")))
			} else if _, sealed = f.Commit(t.ctx, flowName, seal(fmt.Sprint("seal/", round), shard)); sealed == nil {
				seen, sealed = f.Depth(t.ctx, flowName, shard)
			}
		})
		t.succeed("seal", sealed)
		switch {
		case written == nil && seen[0].Drained():
			t.Fatalf("round %d: the shard was drained, and then it got a message", round)
		case written == nil:
			sealer.depth(shard, 1, 1, true)
			continue
		}
		t.fails("commit beside the seal", written, store.ErrSealed)
		sealer.depth(shard, 0, 0, true)
		writer.commits("the unit without its output", true, unit(got))
	}
	writer.refused("a message after the seal", store.ErrSealed,
		store.Unit{Name: "late", Outputs: []store.Put{to(shards[1], "x")}})
}

// queueOrder: one reader gets the messages of a shard in the order in which they were written: by calls one after the
// other, by the units of a call, and by the outputs of a unit; also where they were delivered before, and not
// acknowledged.
func queueOrder(writer, reader *flow) {
	const calls, units, outputs = 6, 3, 4
	var want, got []string
	for call := range calls {
		var all []store.Unit
		for unit := range units {
			u := store.Unit{Name: fmt.Sprint(call, "/", unit)}
			for i := range outputs {
				text := fmt.Sprintf("%d/%d/%d %0*d", call, unit, i, 400*i, 0) // some are large
				want = append(want, text)
				u.Outputs = append(u.Outputs, store.Put{Shard: in, Segments: 1, Data: []byte(text)})
			}
			all = append(all, u)
		}
		writer.commit(all...)
	}
	returned := false
	reader.await("all messages", func() bool {
		some := reader.receive(store.Receive{Shard: in, Limit: 5, Lease: lease})
		if len(got) > calls*units && len(some) > 0 && !returned {
			returned = true
			reader.giveBack(some)
			return false
		}
		for _, m := range some {
			got = append(got, string(m.Data))
			reader.commit(unit([]store.Message{m}))
		}
		return len(got) == len(want)
	})
	for i := range want {
		if got[i] != want[i] {
			reader.Fatalf("message %d of %d is %.10q, written was %.10q", i, len(want), got[i], want[i])
		}
	}
}

// queueEachOnce: workers with short leases, some of which forget what they took, move everything once.
func queueEachOnce(first, _ *flow) {
	const workers, messages = 4, 60
	var texts []string
	for i := range messages {
		texts = append(texts, fmt.Sprintf("%03d", i))
	}
	first.put(in, texts...)
	first.commit(seal("seal", in))
	errs, handles := make([]error, workers), make([]*flow, workers)
	for w := range handles {
		handles[w] = first.another()
	}
	together(handles, func(w int, f *flow) { errs[w] = f.move(f.ctx, w) })
	first.succeed("work", errors.Join(errs...))
	first.takes("moved", out, texts...)
	first.depth(out, messages, messages, false)
}

// move moves messages from in to out until in is drained. It forgets what it has in some turns, and commits twice in
// others.
func (f *flow) move(ctx context.Context, worker int) error {
	for turn := worker; ctx.Err() == nil; turn++ {
		got, err := f.Receive(ctx, flowName, store.Receive{Shard: in, Limit: 5, Lease: short})
		if err != nil {
			return err
		}
		if len(got) == 0 {
			d, err := f.Depth(ctx, flowName, in)
			if err != nil || d[0].Drained() {
				return err
			}
			time.Sleep(10 * time.Millisecond) // waits: for leases of others to end
			continue
		}
		var units []store.Unit
		for i := range got {
			units = append(units, unit(got[i:i+1], store.Put{Shard: out, Segments: 1, Data: got[i].Data}))
		}
		times := 1
		switch {
		case turn%7 == 3:
			times = 0
		case turn%5 == 2:
			times = 2
		}
		for range times {
			if _, err := f.Commit(ctx, flowName, units...); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}
