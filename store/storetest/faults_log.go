package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/store"
)

// LogFaults is the suite of store.Log when the path to the server breaks.
func LogFaults[S store.Log](t *testing.T, open OpenThrough[S]) {
	runFaultRules(t, open, []faultRule[S]{
		{"cut in the middle", logCut[S]},
		{"works again", logAgain[S]},
		{"snapshot cut in the middle", snapshotCut[S]},
		{"linearizable", logLinearizableFaults[S]},
	})
}

// attempt is an append and what it said.
type attempt struct {
	data    string
	index   uint64
	verdict verdict
}

// try appends under a fault that was made before.
func (b *bench[S]) try(t *testing.T, s store.Log, data string) attempt {
	t.Helper()
	a := attempt{data: data}
	err := b.begin(func(ctx context.Context) (err error) {
		a.index, err = s.Append(ctx, []byte(data))
		return err
	}).end(t, fmt.Sprintf("append of %.20q", data))
	a.verdict = judge(t, fmt.Sprintf("append of %.20q", data), err)
	return a
}

// audit reads all records and holds what was said against them.
func audit(t *testing.T, ctx context.Context, witness store.Log, attempts []attempt) {
	t.Helper()
	appendTo(t, ctx, witness, "the end")
	found, times := map[string]uint64{}, map[string]int{}
	for _, r := range readAll(t, ctx, witness, 0, 1000) {
		found[string(r.Data)] = r.Index
		times[string(r.Data)]++
	}
	last := uint64(0)
	for _, a := range attempts {
		n, at := times[a.data], found[a.data]
		switch {
		case n > 1:
			t.Errorf("%.20q stands in the log %d times", a.data, n)
		case a.verdict == notDone && n != 0:
			t.Errorf("%.20q was said not to be appended and stands at %d", a.data, at)
		case a.verdict == done && (n != 1 || at != a.index):
			t.Errorf("%.20q was acknowledged at %d and stands %d times, at %d", a.data, a.index, n, at)
		case a.verdict == done && at <= last:
			t.Errorf("%.20q stands at %d, before an older append of the same caller at %d", a.data, at, last)
		}
		if a.verdict == done {
			last = max(last, at)
		}
	}
}

// warmLog makes sure that the handle is connected.
func (b *bench[S]) warmLog(t *testing.T, s store.Log) {
	t.Helper()
	again(t, b.ctx, "read", func(ctx context.Context) error { _, err := s.Read(ctx, 0, 1); return err })
}

func logCut[S store.Log](t *testing.T, b *bench[S]) {
	var attempts []attempt
	for round := range 2 {
		for _, m := range moments() {
			b.warmLog(t, b.through)
			m.arm(b.link)
			attempts = append(attempts, b.try(t, b.through, fmt.Sprintf("%s in round %d%s", m.name, round, strings.Repeat(".", 1000))))
			b.heal(t)
			b.warmLog(t, b.through)
			attempts = append(attempts, b.try(t, b.through, fmt.Sprintf("behind %s in round %d", m.name, round)))
		}
	}
	audit(t, b.ctx, b.witness, attempts)
}

// anySnapshot reads the snapshot; that there is none is an answer.
func anySnapshot(ctx context.Context, s store.Log) error {
	_, err := s.Snapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// logAgain breaks the link in all ways, one after the other: each append says what came of it, nothing that is asked for
// is wrong, and the same handle works after each.
func logAgain[S store.Log](t *testing.T, b *bench[S]) {
	first := appendTo(t, b.ctx, b.witness, "first")
	var attempts []attempt
	for _, o := range outages() {
		b.warmLog(t, b.through)
		o.make(b.link)
		for i := range 3 {
			a := b.try(t, b.through, fmt.Sprintf("append %d while %s", i, o.name))
			if a.verdict == done {
				t.Errorf("append while the link is %s: no error", o.name)
			}
			attempts = append(attempts, a)
		}
		for name, call := range map[string]func(context.Context) error{
			"read":     func(ctx context.Context) error { _, err := b.through.Read(ctx, 0, 10); return err },
			"snapshot": func(ctx context.Context) error { return anySnapshot(ctx, b.through) },
		} {
			judgeNoAnswer(t, name+" while the link is "+o.name, b.begin(call))
		}
		for name, call := range map[string]func(context.Context) error{
			"save": func(ctx context.Context) error {
				return b.through.SaveSnapshot(ctx, store.Record{Index: first, Data: []byte("state")})
			},
			"trim": func(ctx context.Context) error { return b.through.Trim(ctx, 0) },
		} {
			judge(t, name+" while the link is "+o.name, b.begin(call).end(t, name+" while the link is "+o.name))
		}
		b.heal(t)
		b.warmLog(t, b.through)
		for i := range 2 {
			data := fmt.Sprintf("append %d after it was %s", i, o.name)
			attempts = append(attempts, attempt{data: data, index: appendTo(t, b.ctx, b.through, data), verdict: done})
		}
	}
	audit(t, b.ctx, b.through, attempts)
	audit(t, b.ctx, b.witness, attempts)
}

// snapshotCut cuts while a snapshot of more than one request of most stores is sent: what is read is whole, the new one or the one before.
func snapshotCut[S store.Log](t *testing.T, b *bench[S]) {
	old, index := store.Record{}, uint64(0)
	for i, bytesBefore := range []int64{200, 100_000, 900_000, 1_600_000, 2_400_000} {
		index = appendTo(t, b.ctx, b.witness, fmt.Sprint(i))
		next := store.Record{Index: index, Data: bytes.Repeat([]byte(fmt.Sprintf("state %d ", i)), 300_000)}
		b.warmLog(t, b.through)
		b.link.CutRequests(bytesBefore)
		err := b.begin(func(ctx context.Context) error { return b.through.SaveSnapshot(ctx, next) }).end(t, "save")
		b.heal(t)
		if errors.Is(err, store.ErrTooLarge) {
			t.Skipf("the store takes no snapshot of %d bytes", len(next.Data))
		}
		said := judge(t, "save", err)
		b.warmLog(t, b.through)
		got, err := b.witness.Snapshot(b.ctx)
		if err != nil && (!errors.Is(err, store.ErrNotFound) || old.Index != 0) {
			t.Fatalf("snapshot: %v", err)
		}
		isNext, isOld := got.Index == next.Index, got.Index == old.Index
		switch {
		case isNext && !bytes.Equal(got.Data, next.Data), isOld && !bytes.Equal(got.Data, old.Data), !isNext && !isOld:
			t.Fatalf("snapshot at %d of %d bytes is neither that of %d nor that of %d", got.Index, len(got.Data), old.Index, next.Index)
		case said == done && !isNext, said == notDone && isNext:
			t.Errorf("save said %v; the snapshot is at %d, it was to be at %d", said, got.Index, next.Index)
		}
		old = got
	}
	again(t, b.ctx, "save", func(ctx context.Context) error {
		return b.through.SaveSnapshot(ctx, store.Record{Index: index, Data: []byte("last")})
	})
	if got, err := b.witness.Snapshot(b.ctx); err != nil || got.Index != index || old.Index != index && string(got.Data) != "last" {
		t.Errorf("at the end the snapshot is %d bytes at %d, %v; want that at %d", len(got.Data), got.Index, err, index)
	}
}
