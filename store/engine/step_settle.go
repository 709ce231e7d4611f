package engine

import (
	"errors"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// sends is how often a write is sent at most.
const sends = 4

// attempt is a write, and what has become of it so far.
type attempt struct {
	op   driver.Op
	sent int
	lost error // of an answer that did not come
}

// move is what to do next.
type move int

const (
	tell  move = iota // the answer is the outcome
	again             // send it again
	look              // read the row
)

// answered notes an answer and says what to do next. A conflict is the outcome only if no answer was lost before: else
// the write may have met itself.
func (a *attempt) answered(err error) move {
	a.sent++
	unknown := errors.Is(err, store.ErrUnknown)
	if unknown {
		a.lost = err
	}
	switch {
	case err == nil, a.lost == nil, a.op.Once && errors.Is(err, store.ErrConflict):
		return tell // of a row that is written once a conflict says all: it is there
	case unknown && (a.op.If != "" || a.op.Once) && a.sent < sends:
		return again
	case a.op.Once:
		return tell
	}
	return look
}

// found judges the row after an answer was lost. A name that is not ours proves nothing by itself: ours may have been
// there before it.
func (a *attempt) found(row driver.Row) error {
	switch {
	case row.Name == a.op.Name && row.Version != "":
		return nil
	case a.op.If == "" || row.Version == a.op.If:
		return &Doubt{Why: a.lost} // it may still come
	}
	return &Doubt{Why: a.lost, Row: &row}
}

// Doubt is the outcome of a write that was sent, and whose row does not tell what became of it. It is a
// store.ErrUnknown.
type Doubt struct {
	Why error
	Row *driver.Row // what stands there now, if the version has passed, so that the write can come no more; else nil
}

// Error implements error.
func (d *Doubt) Error() string { return d.Why.Error() }

// Unwrap makes it a store.ErrUnknown.
func (d *Doubt) Unwrap() []error { return []error{store.ErrUnknown, d.Why} }
