package full_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/full"
)

// rowsBelow counts the rows of a prefix.
func rowsBelow(t *testing.T, m *drivermap.Map, prefix string) int {
	t.Helper()
	rows := must.Get(m.Open().Read(t.Context(), driver.Query{From: prefix, To: prefix + "~", Limit: 1 << 20}))(t)
	return len(rows.Range)
}

// TestQueueStaysSmall moves messages for as long as a log of their operations would be trimmed several times. What is
// left is bounded; a handle that slept meanwhile, and a new one, go on; a lease that is older than the log keeps its
// message, and ends; what shares its data with a message that is done stays.
func TestQueueStaysSmall(t *testing.T) {
	t.Parallel()
	rows := func(m *drivermap.Map) engine.Driver { return cut{polled{m.Open(), pass}} }
	ordered := func(m *drivermap.Map) engine.Driver { return m.OpenOrdered() }
	t.Run("rows", func(t *testing.T) { t.Parallel(); staysSmall(t, rows, 4, store.ErrConflict) })
	t.Run("ordered", func(t *testing.T) { t.Parallel(); staysSmall(t, ordered, 0, nil) })
}

// staysSmall is that on one kind of driver: at most how many rows a dropped flow leaves, and how it answers who makes
// it again.
func staysSmall(t *testing.T, kind func(*drivermap.Map) engine.Driver, leaves int, again error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, m := t.Context(), drivermap.New()
		open := func() *full.Bare {
			s := full.NewBare(kind(m), full.Options{Place: "here"})
			t.Cleanup(func() { must.Succeed(t, s.Close()) })
			return s
		}
		in, held := store.Shard{Edge: "in"}, store.Shard{Edge: "held"}
		s, slept := open(), open()
		must.Succeed(t, s.MakeFlow(ctx, "f", []store.Shard{in, held}))
		put := func(name string, to ...store.Shard) {
			u := store.Unit{Name: name}
			for _, shard := range to {
				u.Outputs = append(u.Outputs,
					store.Put{Shard: shard, Segments: 1, Data: bytes.Repeat([]byte(name), 600)})
			}
			must.Succeed(t, must.Err(s.Commit(ctx, "f", u)))
		}
		receive := func(of *full.Bare, from store.Shard, lease time.Duration) []store.Message {
			t.Helper()
			return must.Get(of.Receive(ctx, "f", store.Receive{Shard: from, Limit: 10, Lease: lease}))(t)
		}
		put("h", held, held)
		first := receive(slept, held, time.Hour)
		const rounds = 1500
		for i := range rounds {
			put(fmt.Sprint("m", i), in)
			for _, msg := range receive(s, in, time.Minute) {
				fresh, err := s.Commit(ctx, "f", store.Unit{Inputs: []store.Message{msg}})
				if err != nil || !fresh[0] {
					t.Fatalf("message %d: fresh %v, %v", msg.Number, fresh, err)
				}
			}
		}
		if n := rowsBelow(t, m, "q/"); n < 1 || n > 16 { // what is held, and what waits to be freed
			t.Errorf("%d rows of data are left, want 1 to 16", n)
		}
		if n := rowsBelow(t, m, "l/"); n > 2*1000/8+10 { // pages of eight records
			t.Errorf("%d rows of the log are left after %d operations", n, 3*rounds)
		}
		for _, of := range []*full.Bare{slept, open()} {
			d, err := of.Depth(ctx, "f", in, held)
			if err != nil || d[0].Stored != rounds || d[0].Pending != 0 || d[1].Pending != 2 ||
				d[1].PendingSegments != 2 {
				t.Errorf("a handle that comes late sees %+v, %v", d, err)
			}
			if got := receive(of, held, time.Hour); len(got) > 0 {
				t.Errorf("it gets %d messages that another one has", len(got))
			}
		}
		time.Sleep(time.Hour + time.Second) // waits: in virtual time
		late := receive(open(), held, time.Minute)
		if len(late) != 0 { // it counts from when it has read of the lease
			t.Error("a new handle does not wait for the lease")
		}
		late = receive(slept, held, time.Minute)
		if len(late) != 2 || late[0].Delivered != 2 || !bytes.Equal(late[0].Data, first[0].Data) {
			t.Fatalf("after the lease: %d messages", len(late))
		}
		fresh := open() // it has read a snapshot
		must.Succeed(t, must.Err(fresh.Commit(ctx, "f", store.Unit{Inputs: late[:1]})))
		for i := range 20 { // more than wait to be freed
			put(fmt.Sprint("n", i), in)
			must.Succeed(t, must.Err(fresh.Commit(ctx, "f", store.Unit{Inputs: receive(fresh, in, time.Minute)})))
		}
		peek := store.Receive{Shard: held, Limit: 9, Peek: true}
		if got, err := open().Receive(ctx, "f", peek); err != nil || len(got) != 1 ||
			!bytes.Equal(got[0].Data, first[1].Data) {
			t.Errorf("what shared its data with a message that is done: %d messages, %v", len(got), err)
		}
		must.Succeed(t, s.DropFlow(ctx, "f"))
		if data, rows := rowsBelow(t, m, "q/"), rowsBelow(t, m, "l/"); data != 0 || rows > leaves {
			t.Errorf("a dropped flow leaves %d rows of data and %d others", data, rows)
		}
		for _, of := range []*full.Bare{slept, open()} {
			if _, err := of.Depth(ctx, "f"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("after it was dropped: %v", err)
			}
		}
		if err := open().MakeFlow(ctx, "f", []store.Shard{in}); !errors.Is(err, again) {
			t.Errorf("made again: %v", err)
		}
	})
}

// TestQueueBundles: large messages of one commit are few rows. Each is there as long as one of them waits, also for a
// handle that has not written them; the record of each is of its own bytes.
func TestQueueBundles(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), drivermap.New()
	open := func() *full.Bare {
		s := full.NewBare(polled{m.Open(), pass}, full.Options{Place: "here"})
		t.Cleanup(func() { must.Succeed(t, s.Close()) })
		return s
	}
	in, s, other := store.Shard{Edge: "in"}, open(), open()
	must.Succeed(t, s.MakeFlow(ctx, "f", []store.Shard{in}))
	data := func(round, i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d/%d ", round, i), 500) }
	const messages, rounds = 10, 100 // more bundles than three handles leave
	for round := range rounds {
		u := store.Unit{Name: fmt.Sprint("u", round)}
		for i := range messages {
			u.Outputs = append(u.Outputs, store.Put{Shard: in, Segments: 1, Data: data(round, i)})
		}
		must.Succeed(t, must.Err(s.Commit(ctx, "f", u)))
		if n := rowsBelow(t, m, "q/"); n > 3*16+1 {
			t.Fatalf("%d rows of data in round %d", n, round)
		}
		for i := range messages {
			got, err := other.Receive(ctx, "f", store.Receive{Shard: in, Limit: 1, Lease: time.Minute})
			if err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, data(round, i)) {
				t.Fatalf("message %d of round %d: %d messages, %v", i, round, len(got), err)
			}
			if i == 0 && round%50 == 0 {
				other = open() // it has to read the bundle
			}
			must.Succeed(t, must.Err(other.Commit(ctx, "f", store.Unit{Inputs: got})))
		}
	}
}

// narrow is a driver whose store has room or not, and takes small values alone.
type narrow struct {
	polled
	full  *atomic.Bool
	value int
}

func (n narrow) Limits() driver.Limits {
	most := n.polled.Limits()
	most.Value = min(most.Value, n.value)
	return most
}

func (n narrow) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	switch {
	case n.full.Load():
		return "", fmt.Errorf("no space left: %w", store.ErrUnavailable)
	case len(op.Value) > n.value:
		return "", store.ErrTooLarge
	}
	return n.polled.Swap(ctx, op, with...)
}

// TestQueueRefused: a store without space, and one that takes small values alone, refuses what a flow puts out: nothing
// of it is there, the error says why, and what fits goes on.
func TestQueueRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct { // order-free: each is a store of its own
		size int // of the second output
		full bool
		want error
	}{"full": {1000, true, store.ErrUnavailable}, "small": {80 << 10, false, store.ErrTooLarge}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, isFull := t.Context(), new(atomic.Bool)
			s := full.NewBare(narrow{polled{drivermap.New().Open(), pass}, isFull, 64 << 10},
				full.Options{Place: "here"})
			t.Cleanup(func() { must.Succeed(t, s.Close()) })
			a, b := store.Shard{Edge: "a"}, store.Shard{Edge: "b"}
			must.Succeed(t, s.MakeFlow(ctx, "f", []store.Shard{a, b}))
			put := func(size int) error {
				u := store.Unit{Name: "u",
					Outputs: []store.Put{{Shard: a, Data: make([]byte, 1000)}, {Shard: b, Data: make([]byte, size)}}}
				return must.Err(s.Commit(ctx, "f", u))
			}
			isFull.Store(c.full)
			if err := put(c.size); !errors.Is(err, c.want) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("%v, want %v alone", err, c.want)
			}
			isFull.Store(false)
			for _, stored := range []uint64{0, 1} {
				if d, err := s.Depth(ctx, "f"); err != nil || d[0].Stored != stored || d[1].Stored != stored {
					t.Errorf("the depths are %+v, %v, want %d", d, err, stored)
				}
				must.Succeed(t, put(1000))
			}
			half := store.Put{Shard: a, Data: make([]byte, 40<<10)} // two of them are too large for one value
			must.Succeed(t, must.Err(s.Commit(ctx, "f", store.Unit{Name: "two", Outputs: []store.Put{half, half}})))
		})
	}
}

// busy is a driver that is asked before it frees rows, too.
type busy struct{ cut }

func (b busy) Free(ctx context.Context, keys []string) error {
	if err := b.request(); err != nil {
		return err
	}
	return b.cut.Free(ctx, keys)
}

// TestDropFails: a flow that was not dropped as a whole is said to be there, whichever request was refused, and goes
// when it is dropped again.
func TestDropFails(t *testing.T) {
	t.Parallel()
	ctx, in := t.Context(), store.Shard{Edge: "in"}
	for n, refused := 1, true; refused; n++ {
		m, left := drivermap.New(), 0
		s := full.NewBare(busy{cut{polled{m.Open(), func() error {
			if left--; left == 0 {
				return store.ErrUnavailable
			}
			return nil
		}}}}, full.Options{Place: "here"})
		must.Succeed(t, s.MakeFlow(ctx, "f", []store.Shard{in}))
		for i := range 5 {
			u := store.Unit{Name: fmt.Sprint("u", i), Outputs: []store.Put{{Shard: in, Data: make([]byte, 3000)}}}
			must.Succeed(t, must.Err(s.Commit(ctx, "f", u)))
		}
		left = n
		first := s.DropFlow(ctx, "f")
		refused, left = left <= 0, 0
		if rest := rowsBelow(t, m, "q/"); first == nil && rest > 0 {
			t.Errorf("it was dropped while request %d was refused: %d rows are left", n, rest)
		}
		again := s.DropFlow(ctx, "f")
		if rest := rowsBelow(t, m, "q/"); again != nil || rest > 0 {
			t.Errorf("request %d was refused (%v); dropped again: %v, %d rows are left", n, first, again, rest)
		}
		must.Succeed(t, s.Close())
	}
}
