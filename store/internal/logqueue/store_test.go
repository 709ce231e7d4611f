package logqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// server is where flows have their logs.
type server struct {
	logs  map[string]*records
	stays bool     // a log that was dropped is seen by others for a while
	first [][]byte // what is in a log before anybody uses it
}

// records are a log, with all that was ever in it.
type records struct {
	all      []store.Record
	trimmed  uint64
	snapshot store.Record
	data     map[string][]byte
	puts     int
}

func (l *records) add(data []byte) uint64 {
	l.all = append(l.all, store.Record{Index: uint64(len(l.all) + 1), Data: data})
	return uint64(len(l.all))
}

// handle is one of several on a server.
type handle struct {
	*Store
	at         *server
	away, full bool   // nothing can be read; nothing can be appended
	page       int    // most records of a read
	appended   func() // what others do after the next append
	light      []bool // of each append
	gets       int
	freed      []string
	saves      int
}

func (s *server) open() *handle {
	h := &handle{at: s, page: page}
	h.Store = New(h)
	return h
}

func (h *handle) OpenJournal(_ context.Context, flow string, create bool) (Journal, error) {
	switch {
	case h.at.logs[flow] != nil:
	case !create:
		return nil, store.ErrNotFound
	default:
		h.at.logs[flow] = &records{data: map[string][]byte{}}
		for _, first := range h.at.first {
			h.at.logs[flow].add(first)
		}
	}
	return journal{h, flow}, nil
}

func (h *handle) DropJournal(_ context.Context, flow string) error {
	if !h.at.stays {
		delete(h.at.logs, flow)
	}
	return nil
}

func (h *handle) Removes() bool { return !h.at.stays }

// journal is the log of a flow for a handle.
type journal struct {
	h    *handle
	flow string
}

func (j journal) log(away bool) (*records, error) {
	l := j.h.at.logs[j.flow]
	switch {
	case away:
		return nil, store.ErrUnavailable
	case l == nil:
		return nil, store.ErrNotFound
	}
	return l, nil
}

func (j journal) Append(_ context.Context, a Append) (index uint64, record []byte, err error) {
	l, err := j.log(j.h.full)
	if err != nil {
		return 0, nil, err
	}
	var at []string
	for _, d := range a.Data {
		l.puts++
		at = append(at, fmt.Sprint("data", l.puts))
		l.data[at[len(at)-1]] = d
	}
	record = a.Record(at)
	index, j.h.light = l.add(record), append(j.h.light, a.Light)
	if f := j.h.appended; f != nil {
		j.h.appended = nil
		f()
	}
	return index, record, nil
}

func (j journal) Read(_ context.Context, after uint64, limit int) (store.Page, error) {
	l, err := j.log(j.h.away)
	if err != nil {
		return store.Page{}, err
	}
	if after < l.trimmed {
		return store.Page{}, store.ErrTruncated
	}
	rest := l.all[after:]
	return store.Page{Records: rest[:min(len(rest), limit, j.h.page)], Head: uint64(len(l.all))}, nil
}

func (j journal) MaxRecord() int { return 1 << 20 }

func (j journal) Get(_ context.Context, at ...string) (all [][]byte, err error) {
	l, err := j.log(j.h.away)
	if err != nil {
		return nil, err
	}
	j.h.gets++
	for _, place := range at {
		all = append(all, l.data[place])
	}
	return all, nil
}

func (j journal) Snapshot(context.Context) (store.Record, error) {
	l, err := j.log(j.h.away)
	if err != nil || l.snapshot.Index == 0 {
		return store.Record{}, cmp.Or(err, store.ErrNotFound)
	}
	return l.snapshot, nil
}

func (j journal) SaveSnapshot(_ context.Context, r store.Record) error {
	j.h.saves++
	j.h.at.logs[j.flow].snapshot = r
	return nil
}

func (j journal) Trim(_ context.Context, index uint64) error {
	j.h.at.logs[j.flow].trimmed = index
	return nil
}

func (j journal) Free(_ context.Context, at ...string) error {
	j.h.freed = append(j.h.freed, at...)
	for _, place := range at {
		delete(j.h.at.logs[j.flow].data, place)
	}
	return nil
}

// saved has the handle save all that it knows of the flow, and trim the log.
func (h *handle) saved(t *testing.T) {
	t.Helper()
	must.Succeed(t, must.Err(h.Depth(t.Context(), "f")))
	h.flows["f"].due = true
	h.flows["f"].save(t.Context())
	h.at.logs["f"].trimmed = h.flows["f"].read
}

// both are two handles that have read the same flow of one shard.
func both(t *testing.T) (one, two *handle) {
	t.Helper()
	s := &server{logs: map[string]*records{}}
	one, two = s.open(), s.open()
	must.Succeed(t, one.MakeFlow(t.Context(), "f", []store.Shard{edge}))
	for _, h := range []*handle{one, two} {
		must.Succeed(t, must.Err(h.Depth(t.Context(), "f")))
	}
	return one, two
}

var edge = store.Shard{Edge: "edge"}

func (h *handle) put(t *testing.T, data string) error {
	t.Helper()
	_, err := h.Commit(t.Context(), "f",
		store.Unit{Name: data[:1], Outputs: []store.Put{{Shard: edge, Segments: 1, Data: []byte(data)}}})
	return err
}

// take receives what there is, the first letter of each: who knows of messages takes those, and looks for others when
// he knows of none.
func (h *handle) take(t *testing.T) (text string, err error) {
	t.Helper()
	for {
		all, err := h.Receive(t.Context(), "f", store.Receive{Shard: edge, Limit: 10, Lease: 1e12})
		for _, m := range all {
			text += string(m.Data[:1])
		}
		if err != nil || len(all) == 0 {
			return text, err
		}
	}
}

// What another handle has written before a call is seen by it, however short ago this handle has read or written, and
// however few records one read has.
func TestAHandleSeesWhatOthersHaveWritten(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	two.page = 1
	must.Succeed(t, one.put(t, "a"))
	if depths, err := two.Depth(t.Context(), "f", edge); err != nil || depths[0].Pending != 1 {
		t.Errorf("the depth is %+v, %v", depths, err)
	}
	must.Succeed(t, one.put(t, "b"))
	if got, err := two.Receive(t.Context(), "f", store.Receive{Shard: edge, Limit: 9, Peek: true,
		After: 1}); err != nil || len(got) != 1 || got[0].Number != 2 {
		t.Errorf("behind the first waits %+v, %v", got, err)
	}
	must.Succeed(t, two.put(t, "c"))
	must.Succeed(t, one.put(t, "d"))
	must.Succeed(t, one.put(t, "e"))
	if depths, err := two.Depth(t.Context(), "f", edge); err != nil || depths[0].Pending != 5 {
		t.Errorf("the depth is %+v, %v", depths, err)
	}
	if got, err := two.take(t); got != "abcde" || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
	must.Succeed(t, one.put(t, "f"))
	if got, err := two.take(t); got != "f" || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
}

// Where a log is seen for a while after it was dropped, its last record says so, before anything is removed.
func TestALogThatLingers(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	one.at.stays, one.full = true, true
	if err := one.MakeFlow(t.Context(), "g", []store.Shard{edge}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("made: %v", err)
	}
	if err := one.DropFlow(t.Context(), "f"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("dropped: %v", err)
	}
	must.Succeed(t, two.put(t, "a"))
	one.full = false
	for _, flow := range []string{"f", "f", "of nobody"} {
		must.Succeed(t, one.DropFlow(t.Context(), flow))
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
	if l := one.at.logs["f"]; l.trimmed != uint64(len(l.all)) {
		t.Errorf("of %d records %d are left", len(l.all), uint64(len(l.all))-l.trimmed)
	}
}

// TestAFlowIsMadeAgain: what was dropped is forgotten by all who ask for it.
func TestAFlowIsMadeAgain(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	must.Succeed(t, one.put(t, "a"))
	must.Succeed(t, two.put(t, "b"))
	must.Succeed(t, one.DropFlow(t.Context(), "f"))
	if depths, err := two.Depth(t.Context(), "f"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped, and it has %+v, %v", depths, err)
	}
	must.Succeed(t, one.MakeFlow(t.Context(), "f", []store.Shard{edge}))
	must.Succeed(t, one.put(t, "c"))
	for _, h := range []*handle{one, two} {
		if depths, err := h.Depth(t.Context(), "f"); err != nil || depths[0].Stored != 1 {
			t.Errorf("made again, it has %+v, %v", depths, err)
		}
	}
}

// What was taken and cannot be read is given back: it does not wait for the end of a lease. Leases alone need not
// survive a power cut.
func TestWhatCannotBeReadIsGivenBack(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	must.Succeed(t, one.put(t, "a"+strings.Repeat("x", 2000)))
	must.Succeed(t, must.Err(two.Depth(t.Context(), "f")))
	two.away = true
	if got, err := two.take(t); got != "" || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("received %q, %v", got, err)
	}
	two.away = false
	if got, err := one.take(t); got != "a" || err != nil {
		t.Errorf("the other handle received %q, %v", got, err)
	}
	if !slices.Equal(one.light, []bool{false, false, true, true}) || !slices.Equal(two.light, []bool{true, true}) {
		t.Errorf("what need not survive: %v of a flow, a message and a lease; %v of two leases", one.light, two.light)
	}
}

// An operation that was appended may count, also where its author could not read what was decided; but where its flow
// is gone. Nobody waits for it then.
func TestAnAppendThatCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(one, two *handle)
		want      error
	}{
		"away":    {func(one, _ *handle) { one.away = true }, store.ErrUnavailable},
		"trimmed": {func(_, two *handle) { two.saved(t) }, errPassed},
		"dropped": {func(one, _ *handle) { delete(one.at.logs, "f") }, store.ErrNotFound},
	} { // order-free: each by itself
		one, two := both(t)
		must.Succeed(t, two.put(t, "a"))
		waits := one.flows["f"].waits
		one.appended = func() { c.meanwhile(one, two) }
		if err := one.put(t, "b"); !errors.Is(err, c.want) ||
			errors.Is(err, store.ErrUnknown) == errors.Is(err, store.ErrNotFound) || len(waits) > 0 {
			t.Errorf("%s: %v, and %d wait", name, err, len(waits))
		}
		if got, err := two.take(t); name != "dropped" && (got != "ab" || err != nil) {
			t.Errorf("%s: received %q, %v", name, got, err)
		}
	}
}

// TestBundles: data are asked for once, freed some together, and not kept any longer. What they were is known as long
// as somebody may ask.
func TestBundles(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	const all = spentMost + 3
	text := func(i int) string { return strings.Repeat(string(rune('a'+i)), few+1) }
	for i := range all {
		must.Succeed(t, one.put(t, text(i)))
	}
	r := store.Receive{Shard: edge, Limit: all, Lease: 1e12}
	for range 2 {
		r.Return = must.Get(two.Receive(t.Context(), "f", r))(t)
		for i, m := range r.Return {
			if string(m.Data) != text(i) {
				t.Errorf("message %d is %.9q", i, m.Data)
			}
		}
	}
	if len(r.Return) != all || two.gets != 1 {
		t.Errorf("%d messages, asked for %d times", len(r.Return), two.gets)
	}
	for _, m := range r.Return {
		must.Succeed(t, must.Err(two.Commit(t.Context(), "f", store.Unit{Inputs: []store.Message{m}})))
	}
	if left := len(two.flows["f"].shelf.have); len(two.freed) != spentMost || left > 0 {
		t.Errorf("%q were freed, and %d are kept", two.freed, left)
	}
	if d, err := one.Depth(t.Context(), "f"); err != nil || d[0].Segments != all || d[0].PendingSegments != 0 {
		t.Errorf("all are done: %+v, %v", d, err)
	}
	must.Succeed(t, one.put(t, text(all)))
	clear(one.at.logs["f"].data)
	if got, err := two.take(t); got != "" || err != nil {
		t.Errorf("data that are gone are those of what is done: %q, %v", got, err)
	}
}

// TestSnapshots: who has written the record saves it, and nobody else. Where a log was trimmed and has none, that is
// said.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	one, two := both(t)
	for range 2 {
		for range snapshotEvery {
			must.Succeed(t, one.put(t, "a"))
		}
		must.Succeed(t, two.put(t, "b"))
	}
	if at := one.at.logs["f"].trimmed; one.saves != 2 || two.saves != 0 || at != snapshotEvery {
		t.Errorf("they saved %d and %d snapshots, and the first %d records are gone", one.saves, two.saves, at)
	}
	if err := must.Err(two.Commit(t.Context(), "f", store.Unit{Name: "c",
		Outputs: []store.Put{{Shard: store.Shard{Edge: "none"}}}})); !errors.Is(err, store.ErrNotFound) ||
		two.flows["f"] == nil {
		t.Errorf("to a shard that there is not: %v", err)
	}
	one.at.logs["f"].trimmed, one.at.logs["f"].snapshot = snapshotEvery, store.Record{}
	if err := must.Err(one.at.open().Depth(t.Context(), "f")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a log without its beginning: %v", err)
	}
}

// TestFormerRecords: a flow that an earlier version has written is refused with the way out, not taken for an empty
// one. What is no record of a queue changes nothing.
func TestFormerRecords(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), &server{logs: map[string]*records{}, first: [][]byte{{1, 'x'}}}
	err := s.open().MakeFlow(ctx, "f", []store.Shard{edge})
	if err == nil || !strings.Contains(err.Error(), "submit it again") {
		t.Errorf("a flow of an earlier version: %v", err)
	}
	s.first = [][]byte{[]byte("of another program")}
	must.Succeed(t, s.open().MakeFlow(ctx, "g", []store.Shard{edge}))
}
