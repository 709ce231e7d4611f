package engine

import (
	"errors"
	"strings"
	"time"

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

// buried is a tombstone as it was first seen.
type buried struct {
	version driver.Version
	since   time.Duration
}

// moment is when rows were read: between two times of the reader's clock.
type moment struct{ began, ended time.Duration }

// ripe are the tombstones among rows that have stood unchanged for as long as quiet, at the least. It also says what to
// remember of the rest.
func ripe(rows []driver.Row, before map[string]buried, at moment, quiet time.Duration) (
	free []driver.Row, after map[string]buried,
) {
	after = map[string]buried{}
	for _, row := range rows {
		if !isTomb(row) {
			continue
		}
		b := before[row.Key]
		if b.version != row.Version {
			b = buried{row.Version, at.ended}
		}
		if at.began-b.since >= quiet {
			free = append(free, row)
			continue
		}
		after[row.Key] = b
	}
	return free, after
}

// The first byte of a row says what it holds. Behind that of a tombstone is the life that was ended by it, if any.
const (
	live = 'v'
	tomb = 't'
)

func isTomb(row driver.Row) bool { return len(row.Value) > 0 && row.Value[0] == tomb }

// ended reports whether a row is the tombstone by which a life was ended.
func ended(row driver.Row, life string) bool {
	return isTomb(row) && string(row.Value[1:]) == life
}

// leaves reports whether a row may be left as it is when a life has ended: nothing that this life has sent can change
// it. That is so of the tombstone that ended it, and of what others have written over it. What another one has deleted
// is written anew: the life may have sent a create over that tombstone.
func leaves(row driver.Row, life string) bool {
	if row.Version == "" || strings.HasPrefix(row.Name, life+".") {
		return ended(row, life)
	}
	return !isTomb(row) || ended(row, life)
}
