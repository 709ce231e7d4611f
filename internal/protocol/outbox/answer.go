package outbox

import (
	"errors"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Outcome is the outcome of a call.
type Outcome uint8

// The three outcomes of a call that changes something, and the refusals on which decisions depend.
const (
	Done    Outcome = iota
	NotDone         // provably: nothing was changed
	Unknown         // it may have happened, or may happen later
	Refused         // not done, and a retry will not help: a conflict, too large
)

// OutcomeOf returns the outcome of a call by its error.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Done
	case errors.Is(err, store.ErrUnknown):
		return Unknown
	case errors.Is(err, store.ErrTooLarge):
		return Refused
	}
	return NotDone
}

// Waits reports whether the entry of a number is pending. It is not if the entry was found in the log before the answer
// of its append came.
func (b Box) Waits(seq uint64) bool { return b.Pending != nil && b.Pending.Entry.Seq == seq }

// Failed records that an append was not done, or may not be; a retry is not before an instant.
func (b Box) Failed(o Outcome, err string, retry protocol.Instant) (Box, []Answer) {
	switch o {
	case Unknown:
		b = b.Unknown()
	case Refused:
		p := b.Pending
		b, out := b.TooLarge(err)
		if b.Pending == nil && p.Own > 0 && p.Own == len(p.Entry.Commands) && p.Own == itemSize(p.Entry.Commands) {
			b = b.judged(p.Entry.Commands, true, retry)
		}
		return b, out
	default:
		b = b.Requeue()
	}
	b.Next = retry
	return b, nil
}

// Took records that an entry of any writer was applied to the value. It answers the requests of the pending entry if it
// is that one, or if the value shows that it was applied before.
func (b Box) Took(now protocol.Instant, writer cluster.WriterID, v *cluster.Value, a protocol.Applied) (Box, []Answer) {
	switch {
	case a.Duplicate:
		return b.Lost(v.Wrote(writer))
	case a.Entry.Writer == writer && b.Waits(a.Entry.Seq):
		return b.Applied(now, a.Results)
	}
	return b, nil
}

// At records the index of the pending entry in the log.
func (b Box) At(index cluster.Index) Box {
	next := *b.Pending
	next.Known, next.Acks = index, next.Acks+1
	b.Pending = &next
	return b
}

// Unknown records that the outcome of an append is unknown: from here on the entry keeps its number, whatever the
// outcome of later attempts.
func (b Box) Unknown() Box {
	next := *b.Pending
	next.Maybe = true
	b.Pending = &next
	return b
}

// Requeue takes back an entry that was not appended. Commands that the state asked for are derived again. An entry that
// may still arrive stays pending.
func (b Box) Requeue() Box {
	if b.Pending == nil || b.Pending.Maybe {
		return b
	}
	b.Queue = append(slices.Clone(b.Pending.Requests), b.Queue...)
	b.Pending = nil
	return b
}

// TooLarge makes smaller entries; a single request that does not fit is answered with err.
func (b Box) TooLarge(err string) (Box, []Answer) {
	p := b.Pending
	if n := len(p.Entry.Commands); n > 1 && !p.Maybe && (p.Own > 0 || len(p.Requests) > 1) {
		b = b.Requeue()
		b.Limit = max(1, n/2)
		return b, nil
	}
	b.Pending = nil
	out := make([]Answer, 0, len(p.Requests))
	for _, r := range p.Requests {
		out = append(out, Answer{ID: r.ID, Err: err, Unknown: p.Maybe})
	}
	return b, out
}

// Applied records that the pending entry was applied with these results, and answers its requests.
func (b Box) Applied(now protocol.Instant, results []cluster.Result) (Box, []Answer) {
	p := b.Pending
	b.Pending, b.Next = nil, 0
	for at := 0; at < p.Own; {
		item := p.Entry.Commands[at:p.Own]
		item = item[:itemSize(item)]
		b = b.judged(item, !results[at].Accepted, now)
		at += len(item)
	}
	at := p.Own
	out := make([]Answer, 0, len(p.Requests))
	for _, r := range p.Requests {
		out = append(out, Answer{ID: r.ID, Results: results[at : at+len(r.Commands)]})
		at += len(r.Commands)
	}
	return b, out
}

// Lost abandons a pending entry that was applied in a snapshot to which the writer has jumped, so that its results are
// unknown. It must not be appended again and again; its effects are in the value. Wrote is the writer's newest number
// in the value.
func (b Box) Lost(wrote uint64) (Box, []Answer) {
	p := b.Pending
	if p == nil || wrote < p.Entry.Seq {
		return b, nil
	}
	b.Pending, b.Next = nil, 0
	out := make([]Answer, 0, len(p.Requests))
	for _, r := range p.Requests {
		out = append(out, Answer{ID: r.ID, Unknown: true,
			Err: "it was applied, but the entry that says what it did has been trimmed: look at the value"})
	}
	return b, out
}
