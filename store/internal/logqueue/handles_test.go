package logqueue_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

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
