package drivertest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

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
