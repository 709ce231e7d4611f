// Package outbox decides what a writer appends next to a shared log, and when it retries. It is pure.
//
// # Purpose
//
// A protocol derives commands from its state, and forwards requests. Both go through an outbox ([Box]), which makes
// numbered entries of them, one at a time, and handles their outcomes.
//
// # State
//
//	nothing pending ──Compose──→ pending ──Sent──→ under way ──┬─ done, and applied here ──→ nothing pending: the requests are answered
//	                                ↑                          ├─ done, not applied yet ───→ pending, at a known index
//	                                │                          ├─ not done ────────────────→ nothing pending: the requests wait again
//	                                └────────── unknown ───────┴─ refused as too large ────→ nothing pending: smaller entries
//
// # Guarantees
//
//   - An entry with an unknown outcome is appended again under the same number until it is found in the log. So it
//     counts once, because the value drops entries whose number it has seen.
//   - A request is answered once: with the results of its commands, or with the reason why there are none.
//   - What the state asks for is never queued: it is derived again for each entry, so an entry that was not appended
//     leaves no trace.
//
// # What is not guaranteed
//
// A request that was applied before a snapshot to which the writer has jumped is answered without its results.
//
// # Failures
//
// An entry that is too large for the store is halved. A single request that is too large is answered with that error.
package outbox

import (
	"cmp"
	"errors"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// maxCommands bounds an entry.
const maxCommands = 1000

// Box holds what a writer appends next. It is a value: its methods return another one.
type Box struct {
	Busy    bool             // an append is in flight
	Next    protocol.Instant // the earliest next append
	Seq     uint64           // of the newest entry
	Limit   int              // most commands of an entry; 0 until the store has refused one as too large
	Pending *Pending         // composed, and not known to be applied; never changed
	Queue   []Request
	Refused uint64 // how often something was refused that the state asked for, or that readers passed over

	refusals []refusal // of what is wanted still; never changed
	alone    int       // how many things are appended each by itself, because one of them is passed over
}

// Pending is an entry with an outcome that is not known here.
type Pending struct {
	Entry    cluster.Entry
	Requests []Request     // their commands are the last ones of the entry, in order
	Own      int           // number of commands before them, which the state asked for
	Known    cluster.Index // of the newest append that was acknowledged
	Acks     int           // how many were
	Maybe    bool          // an append of it had an unknown outcome: it may still arrive
}

// Request is a request of another goroutine to append commands.
type Request struct {
	ID       uint64
	Commands []cluster.Command
}

// Answer is the outcome of a request. A non-empty Err means that nothing was done, or with Unknown that the outcome
// cannot be known.
type Answer struct {
	ID      uint64
	Results []cluster.Result
	Err     string
	Unknown bool
}

// With queues a request.
func (b Box) With(r Request) Box {
	b.Queue = append(slices.Clip(b.Queue), r)
	return b
}

// Rests reports whether nothing can be appended now.
func (b Box) Rests(now protocol.Instant) bool { return b.Busy || now < b.Next }

// Again reports whether the pending entry must be appended, by the knowledge of a writer that has applied everything up
// to an index.
func (b Box) Again(applied cluster.Index) bool {
	return b.Pending != nil && (b.Pending.Known == 0 || applied >= b.Pending.Known)
}

// Compose makes the next entry if none is pending: of what the state asks for first, then, unless requests are held
// back, of as many requests as fit. It returns the same box if there is nothing to append.
func (b Box) Compose(now protocol.Instant, writer cluster.WriterID, v cluster.Value, own []cluster.Command,
	holdBack bool) Box {
	b, own, single := b.admit(own, now)
	limit := cmp.Or(b.Limit, maxCommands)
	own = own[:min(len(own), limit)]
	if single = single || b.alone > 0; single && len(own) > 0 {
		own = own[:itemSize(own)]
	}
	p := &Pending{Own: len(own)}
	commands, queue := own, b.Queue
	for len(queue) > 0 && !holdBack {
		r := queue[0]
		if len(commands) > 0 && (single || len(commands)+len(r.Commands) > limit) {
			break
		}
		p.Requests = append(p.Requests, r)
		commands = append(commands, r.Commands...)
		queue = queue[1:]
	}
	if len(commands) == 0 {
		return b
	}
	b.Queue = queue
	b.alone = max(0, b.alone-1)
	b.Seq++
	p.Entry = cluster.Entry{
		Writer: writer, Seq: b.Seq, BaseIndex: v.Index(), BaseChain: v.Chain(), Commands: commands,
	}
	b.Pending = p
	return b
}

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
		next := *b.Pending
		next.Maybe = true // from here on it keeps its number, whatever the outcome of later attempts
		b.Pending = &next
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
