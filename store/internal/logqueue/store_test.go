package logqueue_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/storetest"
)

// handle is one of several on a store that keeps data beside its logs, so that these are kept until their flow is
// dropped.
type handle struct {
	*full.Bare
	logs *logs
}

// logs is the driver of a handle.
type logs struct {
	drivermap.Keeping
	away  atomic.Bool // neither logs nor data can be read
	full  atomic.Bool // nothing can be appended
	stays bool        // a log that was dropped is seen by others for a while
	first []byte      // what is in a log before the handle uses it
}

// keeper is a log with data.
type keeper interface {
	driver.Journal
	driver.JournalValues
}

type journal struct {
	keeper
	of *logs
}

func (l *logs) Limits() driver.Limits {
	limits := l.Keeping.Limits()
	limits.Lingers = l.stays
	return limits
}

func (l *logs) DropJournal(ctx context.Context, flow string) error {
	if l.stays {
		return nil
	}
	return l.Keeping.DropJournal(ctx, flow)
}

func (j journal) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	if j.of.full.Load() {
		return nil, store.ErrUnavailable
	}
	return j.keeper.Append(ctx, records)
}

func (l *logs) OpenJournal(ctx context.Context, flow string, create bool) (driver.Journal, error) {
	j, err := l.Keeping.OpenJournal(ctx, flow, create)
	if err == nil && l.first != nil {
		_, err = j.Append(ctx, [][]byte{l.first})
	}
	if err != nil {
		return nil, err
	}
	return journal{j.(keeper), l}, nil
}

func (j journal) Read(ctx context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error) {
	if j.of.away.Load() {
		return nil, 0, 0, store.ErrUnavailable
	}
	return j.keeper.Read(ctx, after, n)
}

func (j journal) Values(ctx context.Context, at []string) ([][]byte, error) {
	if j.of.away.Load() {
		return nil, store.ErrUnavailable
	}
	return j.keeper.Values(ctx, at)
}

func open(*testing.T) func(t *testing.T) *handle {
	m := drivermap.New()
	return func(t *testing.T) *handle {
		l := &logs{Keeping: m.OpenKeeping()}
		h := &handle{full.NewBare(l, full.Options{Place: "here"}), l}
		t.Cleanup(func() { must.Succeed(t, h.Close()) })
		return h
	}
}

func TestQueue(t *testing.T) { t.Parallel(); storetest.Queue(t, open); storetest.QueueJoins(t, open) }

// both are two handles that have read the same flow of one shard.
func both(t *testing.T) (one, two *handle) {
	t.Helper()
	opener := open(t)
	one, two = opener(t), opener(t)
	must.Succeed(t, one.MakeFlow(t.Context(), "f", []store.Shard{shard}))
	for _, h := range []*handle{one, two} {
		must.Succeed(t, must.Err(h.Depth(t.Context(), "f")))
	}
	return one, two
}

var shard = store.Shard{Edge: "edge"}

func (h *handle) put(t *testing.T, data string) error {
	t.Helper()
	_, err := h.Commit(t.Context(), "f",
		store.Unit{Name: data[:1], Outputs: []store.Put{{Shard: shard, Segments: 1, Data: []byte(data)}}})
	return err
}

// take receives what there is, the first letter of each: who knows of messages takes those, and looks for others when
// he knows of none.
func (h *handle) take(t *testing.T) (text string, err error) {
	t.Helper()
	for {
		all, err := h.Receive(t.Context(), "f", store.Receive{Shard: shard, Limit: 10, Lease: 1e12})
		for _, m := range all {
			text += string(m.Data[:1])
		}
		if err != nil || len(all) == 0 {
			return text, err
		}
	}
}

// What another handle has written before a call is seen by it, however short ago this handle has read or written.
func TestAHandleSeesWhatOthersHaveWritten(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	must.Succeed(t, one.put(t, "a"))
	if depths, err := two.Depth(t.Context(), "f", shard); err != nil || depths[0].Pending != 1 {
		t.Errorf("the depth is %+v, %v", depths, err)
	}
	must.Succeed(t, one.put(t, "b"))
	if got, err := two.Receive(t.Context(), "f", store.Receive{Shard: shard, Limit: 9, Peek: true,
		After: 1}); err != nil || len(got) != 1 || got[0].Number != 2 {
		t.Errorf("behind the first waits %+v, %v", got, err)
	}
	must.Succeed(t, two.put(t, "c"))
	must.Succeed(t, one.put(t, "d"))
	if got, err := two.take(t); got != "abcd" || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
	must.Succeed(t, one.put(t, "e"))
	if got, err := two.take(t); got != "e" || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
}

// Where a log is seen for a while after it was dropped, its last record says so, before anything is removed.
func TestALogThatLingers(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	one.logs.stays, two.logs.stays = true, true
	one.logs.full.Store(true)
	if err := one.MakeFlow(t.Context(), "g", []store.Shard{shard}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("made: %v", err)
	}
	if err := one.DropFlow(t.Context(), "f"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("dropped: %v", err)
	}
	must.Succeed(t, two.put(t, "a"))
	one.logs.full.Store(false)
	for range 2 {
		must.Succeed(t, one.DropFlow(t.Context(), "f"))
	}
	for _, h := range []*handle{one, two} {
		for _, flow := range []string{"f", "g"} {
			if depths, err := h.Depth(t.Context(), flow); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s has %+v, %v", flow, depths, err)
			}
		}
		if err := h.put(t, "b"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a commit after the drop: %v", err)
		}
	}
}

// What was taken and cannot be read is given back: it does not wait for the end of a lease.
func TestWhatCannotBeReadIsGivenBack(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	must.Succeed(t, one.put(t, "a"+strings.Repeat("x", 2000)))
	must.Succeed(t, must.Err(two.Depth(t.Context(), "f")))
	two.logs.away.Store(true)
	if got, err := two.take(t); got != "" || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("received %q, %v", got, err)
	}
	two.logs.away.Store(false)
	if got, err := one.take(t); got != "a" || err != nil {
		t.Errorf("the other handle received %q, %v", got, err)
	}
}

// An operation that was appended may count, also where its author could not read what was decided.
func TestAnAppendThatCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	must.Succeed(t, one.put(t, "a"))
	two.logs.away.Store(true)
	if err := two.put(t, "b"); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	two.logs.away.Store(false)
	if got, err := one.take(t); got != "ab" || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
}

// TestFormerRecords: a flow that an earlier version has written is refused with the way out, not taken for an empty
// one. What is no record of a queue changes nothing.
func TestFormerRecords(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), open(t)(t)
	h.logs.first = []byte{1, 'x'}
	err := h.MakeFlow(ctx, "f", []store.Shard{{Edge: "e"}})
	if err == nil || !strings.Contains(err.Error(), "submit it again") {
		t.Errorf("a flow of an earlier version: %v", err)
	}
	h.logs.first = []byte("of another program")
	must.Succeed(t, h.MakeFlow(ctx, "g", []store.Shard{{Edge: "e"}}))
}
