package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Seer is a driver with vigils.
type Seer interface {
	driver.Driver
	driver.Documents
	driver.Vigils
}

// VigilSetup makes stores for the suite of vigils.
type VigilSetup struct {
	// Open makes an empty store. Each call of what it returns opens another handle, as another process would.
	Open func(t *testing.T) func() Seer
	// Through makes an empty store with two handles: a witness, and one whose changes pass a link. Late requests are
	// not tested if it is nil.
	Through func(t *testing.T) (witness, through Seer, link Link)
}

// Vigils tests a driver with vigils.
func Vigils(t *testing.T, s VigilSetup) {
	t.Helper()
	run(t, func(ctx context.Context) *seers { return &seers{bench{ctx: ctx}, s} }, map[string]func(*testing.T, *seers){
		"rows go with their vigil":     goWithIt,
		"a plain swap unties":          unties,
		"others end it":                othersEnd,
		"what comes late is nothing":   lateUnderVigil,
		"a watch hints at the end":     hintAtTheEnd,
		"others' rows are not touched": othersStay,
	})
}

// seers are what one test works with.
type seers struct {
	bench
	vigils VigilSetup
}

func (b *seers) vigil(t *testing.T, d Seer) driver.Vigil {
	t.Helper()
	v, err := d.Vigil(b.ctx, time.Minute)
	if err != nil {
		t.Fatalf("begin a vigil: %v", err)
	}
	t.Cleanup(v.Close)
	return v
}

// tied writes a row of a vigil, and ends the test if that fails.
func (b *seers) tied(t *testing.T, v driver.Vigil, o driver.Op) driver.Version {
	t.Helper()
	at, err := v.Swap(b.ctx, o)
	if err != nil || at == "" {
		t.Fatalf("swap %q under a vigil: version %q, %v", o.Key, at, err)
	}
	return at
}

func (b *seers) end(t *testing.T, v driver.Vigil) {
	t.Helper()
	for range 2 {
		if err := v.End(b.ctx); err != nil {
			t.Fatalf("end a vigil: %v", err)
		}
	}
}

// gone wants no read to show a row.
func (b *seers) gone(t *testing.T, d driver.Documents, key string) {
	t.Helper()
	if r := b.row(t, d, key); r.Version != "" {
		t.Errorf("%q is there after the end: %+v", key, r)
	}
	q := driver.Query{From: key, To: key + "!", Limit: 10}
	if rows := b.read(t, d, q); len(rows.Range) > 0 {
		t.Errorf("the range shows %+v after the end", rows.Range)
	}
}

func goWithIt(t *testing.T, b *seers) {
	open := b.vigils.Open(t)
	d, other := open(), open()
	v := b.vigil(t, d)
	first := b.tied(t, v, b.op("k", "x", ""))
	second := b.tied(t, v, b.op("k", "y", first))
	b.end(t, v)
	b.gone(t, other, "k")
	for _, at := range []driver.Version{first, second} {
		if _, err := other.Swap(b.ctx, b.op("k", "z", at)); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a swap at the version %q of a row that is gone: %v", at, err)
		}
	}
	if _, err := v.Swap(b.ctx, b.op("k", "late", "")); !errors.Is(err, store.ErrSession) {
		t.Errorf("a swap under a vigil that has ended: %v", err)
	}
	if next := b.swap(t, other, b.op("k", "z", "")); next == first || next == second {
		t.Errorf("the version %q came back", next)
	}
}

func unties(t *testing.T, b *seers) {
	d := b.vigils.Open(t)()
	v := b.vigil(t, d)
	o := b.op("k", "y", b.tied(t, v, b.op("k", "x", "")))
	b.swap(t, d, o)
	b.end(t, v)
	b.holds(t, d, o)
}

func othersEnd(t *testing.T, b *seers) {
	open := b.vigils.Open(t)
	d, other := open(), open()
	v := b.vigil(t, d)
	b.tied(t, v, b.op("k", "x", ""))
	key := v.EndKey().Text
	if key == "" {
		return // its file ends it
	}
	for range 2 {
		if err := other.EndVigil(b.ctx, key); err != nil {
			t.Fatalf("end a vigil of another handle: %v", err)
		}
	}
	b.gone(t, d, "k")
	if _, err := v.Swap(b.ctx, b.op("k", "late", "")); !errors.Is(err, store.ErrSession) {
		t.Errorf("a swap under a vigil that others have ended: %v", err)
	}
	select {
	case <-v.Ended():
	case <-b.ctx.Done():
		t.Error("the owner does not hear of the end")
	}
	if err := other.EndVigil(b.ctx, "x"); err == nil {
		t.Error("a key that is none has ended something")
	}
}

// lateUnderVigil: a create is on its way while others end the vigil.
func lateUnderVigil(t *testing.T, b *seers) {
	if b.vigils.Through == nil {
		return
	}
	witness, through, link := b.vigils.Through(t)
	v := b.vigil(t, through)
	b.tied(t, v, b.op("first", "x", ""))
	link.Next(LateRequest, func() {})
	if _, err := v.Swap(b.ctx, b.op("k", "late", "")); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("a create that is on its way: %v", err)
	}
	if err := witness.EndVigil(b.ctx, v.EndKey().Text); err != nil {
		t.Fatal(err)
	}
	link.Arrive()
	b.gone(t, witness, "first")
	b.gone(t, witness, "k")
}

// hintAtTheEnd writes a row of a vigil, and ends it, each as a change of its own.
func hintAtTheEnd(t *testing.T, b *seers) {
	open := b.vigils.Open(t)
	d, writer := open(), open()
	var v driver.Vigil
	hintsOf(b.ctx, t, func(ctx context.Context, hint func()) error { return d.Watch(ctx, "w/", hint) }, func() {
		if v != nil {
			b.end(t, v)
			v = nil
			return
		}
		v = b.vigil(t, writer)
		b.tied(t, v, b.op("w/k", "x", ""))
	})
}

func othersStay(t *testing.T, b *seers) {
	open := b.vigils.Open(t)
	d := open()
	one, two := b.vigil(t, d), b.vigil(t, d)
	plain, kept := b.op("a", "x", ""), b.op("b", "x", "")
	b.swap(t, d, plain)
	b.tied(t, two, kept)
	at := b.tied(t, one, b.op("c", "x", ""))
	b.end(t, one)
	b.holds(t, open(), plain)
	b.holds(t, open(), kept)
	if _, err := two.Swap(b.ctx, b.op("c", "y", at)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("another vigil writes over a row that is gone: %v", err)
	}
}
