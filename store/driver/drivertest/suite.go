package drivertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Documenter is what the suite tests.
type Documenter interface {
	driver.Driver
	driver.Documents
}

// Setup makes stores for the suite.
type Setup struct {
	// Open makes an empty store. Each call of what it returns opens another handle, as another process would.
	Open func(t *testing.T) func() Documenter
	// Through makes an empty store with two handles: a witness, and one whose changes pass a link. The outcomes are not
	// tested if it is nil.
	Through func(t *testing.T) (witness, through Documenter, link Link)
}

// Link makes faults between one handle and its store.
type Link interface {
	// Next plans what becomes of the next change that the handle sends; those behind it pass. meanwhile runs when that
	// has happened, before the driver can know of it.
	Next(f Fault, meanwhile func())
	// Arrive lets the store execute what is on its way still.
	Arrive()
}

// Fault is what becomes of a change on its way.
type Fault int

// The faults of a Link.
const (
	LostRequest Fault = iota // it is never executed, and there is no answer
	LostReply                // it is executed, and there is no answer
	LateRequest              // it is executed when Arrive is called; there is no answer
)

// patience bounds each test.
const patience = 30 * time.Second

// Documents tests a driver with documents.
func Documents(t *testing.T, s Setup) {
	t.Helper()
	run(t, func(ctx context.Context) *bench { return &bench{ctx: ctx, setup: s} }, map[string]func(*testing.T, *bench){
		"swap compares versions":        swapCompares,
		"a version never comes back":    versionsNeverComeBack,
		"keys are read in their order":  keysInOrder,
		"the range is read before":      rangeBefore,
		"a read shows what is known":    readsAreFresh,
		"a range is sorted and cut":     rangeIsSorted,
		"swap with others is all":       swapWith,
		"too large changes nothing":     tooLarge,
		"freed keys are gone":           freed,
		"what is given up is over":      givenUp,
		"bytes are the caller's":        bytesAreTheCallers,
		"a watch hints":                 watchHints,
		"what has ended is refused":     ended,
		"the outcome is told":           outcomes,
		"a change is sent once":         sentOnce,
		"a late swap meets its version": lateSwap,
	})
}

// run runs tests, each with a bench of its own and in bounded time.
func run[B any](t *testing.T, bench func(context.Context) B, tests map[string]func(*testing.T, B)) {
	t.Helper()
	for name, test := range tests { // order-free: the tests are independent
		t.Run(name, func(t *testing.T) {
			t.Parallel() // on a real server some of them mostly wait
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			test(t, bench(ctx))
		})
	}
}

// bench is what one test works with.
type bench struct {
	ctx   context.Context
	setup Setup
	names int
}

// op is a write with a name of its own.
func (b *bench) op(key, value string, v driver.Version) driver.Op {
	b.names++
	return driver.Op{Key: key, Name: fmt.Sprintf("test.%d", b.names), If: v, Value: []byte(value)}
}

// swap writes, and ends the test if that fails.
func (b *bench) swap(t *testing.T, d driver.Documents, o driver.Op, with ...driver.Op) driver.Version {
	t.Helper()
	v, err := d.Swap(b.ctx, o, with...)
	if err != nil || (v == "") != o.Delete {
		t.Fatalf("swap %q if %q: version %q, %v", o.Key, o.If, v, err)
	}
	return v
}

// conflict wants a swap to be refused; what the answer says to stand there must stand there.
func (b *bench) conflict(t *testing.T, d driver.Documents, o driver.Op) {
	t.Helper()
	before := b.row(t, d, o.Key)
	v, err := d.Swap(b.ctx, o)
	if !errors.Is(err, store.ErrConflict) {
		t.Fatalf("swap %q if %q where %q stands: version %q, %v; want a conflict", o.Key, o.If, before.Version, v, err)
	}
	var c *driver.Conflict
	if errors.As(err, &c) && c.Row != nil && !same(*c.Row, before) {
		t.Errorf("the conflict tells of %+v; %+v stands there", *c.Row, before)
	}
	if now := b.row(t, d, o.Key); !same(now, before) {
		t.Errorf("a refused swap has changed %+v to %+v", before, now)
	}
}

func same(a, b driver.Row) bool {
	return a.Key == b.Key && a.Name == b.Name && string(a.Value) == string(b.Value) && a.Version == b.Version
}

// read reads, and ends the test if that fails.
func (b *bench) read(t *testing.T, d driver.Documents, q driver.Query) driver.Rows {
	t.Helper()
	rows, err := d.Read(b.ctx, q)
	if err != nil || len(rows.Keys) != len(q.Keys) {
		t.Fatalf("read %+v: %+v, %v", q, rows, err)
	}
	for i, r := range rows.Keys {
		if r.Key != q.Keys[i] || r.Version == "" && (len(r.Value) > 0 || r.Name != "") {
			t.Errorf("row %d of %+v is %+v", i, q, r)
		}
	}
	return rows
}

func (b *bench) row(t *testing.T, d driver.Documents, key string) driver.Row {
	t.Helper()
	return b.read(t, d, driver.Query{Keys: []string{key}}).Keys[0]
}

// holds wants a row to be as an op wrote it.
func (b *bench) holds(t *testing.T, d driver.Documents, o driver.Op) {
	t.Helper()
	if r := b.row(t, d, o.Key); r.Name != o.Name || string(r.Value) != string(o.Value) || r.Version == "" {
		t.Errorf("%q holds %+v; want %q by %q", o.Key, r, o.Value, o.Name)
	}
}

// outcomes loses requests and answers on their way, and compares what the driver says with what a witness sees.
func outcomes(t *testing.T, b *bench) {
	if b.setup.Through == nil {
		return
	}
	for fault, name := range []string{"lost request", "lost reply", "late request"} {
		for _, creates := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, creates %v", name, creates), func(t *testing.T) {
				witness, through, link := b.setup.Through(t)
				var v driver.Version
				if !creates {
					v = b.swap(t, witness, b.op("k", "x", ""))
				}
				before := b.row(t, witness, "k")
				link.Next(Fault(fault), func() {})
				o := b.op("k", "ours", v)
				_, err := through.Swap(b.ctx, o)
				judge := func(when string) {
					r := b.row(t, witness, "k")
					switch ours := r.Name == o.Name; {
					case errors.Is(err, store.ErrUnknown):
					case err == nil && !ours:
						t.Errorf("it was said to be done, and %s there is %+v", when, r)
					case err != nil && !same(r, before):
						t.Errorf("it was said not to be done (%v), and %s there is %+v", err, when, r)
					}
				}
				judge("at once")
				link.Arrive()
				judge("in the end")
			})
		}
	}
}

// sentOnce: a create has happened, and its answer is lost; the witness removes what was created. It must not be created
// again.
func sentOnce(t *testing.T, b *bench) {
	if b.setup.Through == nil {
		return
	}
	witness, through, link := b.setup.Through(t)
	o := b.op("k", "ours", "")
	link.Next(LostReply, func() {
		r := b.row(t, witness, "k")
		if r.Name != o.Name {
			t.Errorf("the link has not executed it: %+v", r)
		}
		b.swap(t, witness, driver.Op{Key: "k", Name: "witness", If: r.Version, Delete: true})
	})
	_, err := through.Swap(b.ctx, o)
	link.Arrive()
	if r := b.row(t, witness, "k"); r.Version != "" {
		t.Errorf("it was created, and removed, and is there again: %+v (the swap returned %v)", r, err)
	}
}

// lateSwap: a swap is on its way while the witness writes, and writes again what stood there before.
func lateSwap(t *testing.T, b *bench) {
	if b.setup.Through == nil {
		return
	}
	witness, through, link := b.setup.Through(t)
	v := b.swap(t, witness, b.op("k", "x", ""))
	link.Next(LateRequest, func() {})
	_, err := through.Swap(b.ctx, b.op("k", "ours", v))
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("a swap that is on its way: %v", err)
	}
	last := b.op("k", "x", b.swap(t, witness, b.op("k", "y", v)))
	b.swap(t, witness, last)
	link.Arrive()
	b.holds(t, witness, last)
}
