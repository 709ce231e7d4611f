package model

import (
	"slices"

	"github.com/rota-run/rota/store"
)

// Fate is what becomes of a call; the checker has Fine, NoReply and Fails alone.
type Fate uint8

// The fates.
const (
	Fine       Fate = iota
	NoRequest       // it never arrives
	NoReply         // it is done, nobody hears of it
	Twice           // it is done twice
	Later           // it is done after its caller has given up
	Fails           // the store says that nothing was done
	OldListing      // it is answered with what was
	Dirty           // an isolated copy of the store answers it
	Half            // its first request is done, the next one reaches nobody
	HalfHeard       // its first request is answered, the answer to the next one is lost
)

// Next is the fate of the call's next request.
func (f Fate) Next() Fate {
	switch f {
	case NoRequest, Half: // a caller that reaches nobody reaches nobody at its next try either
		return NoRequest
	case HalfHeard:
		return NoReply
	case Dirty:
		return Dirty
	}
	return Fine
}

// Arrives tells whether the call's first request is done like any other, if the way is open.
func (f Fate) Arrives() bool { return f == Fine || f == Half || f == HalfHeard || f == Dirty }

// Silent tells whether the caller hears nothing before its time is over.
func (f Fate) Silent() bool {
	return slices.Contains([]Fate{NoRequest, NoReply, Later, Half, HalfHeard}, f)
}

// Change makes one change under its fate. A late one is left to later, which does it when the caller has given up.
func (f Fate) Change(do func() error, later func(func())) error {
	switch f {
	case NoRequest, Dirty:
		return store.ErrUnknown
	case Fails:
		return store.ErrUnavailable
	case NoReply:
		_ = do() // nobody hears of it
		return store.ErrUnknown
	case Twice:
		err := do()
		_ = do()
		return err
	case Later:
		later(func() { _ = do() })
		return store.ErrUnknown
	}
	return do()
}
