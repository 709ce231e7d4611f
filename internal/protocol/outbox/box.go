package outbox

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
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
	limit := b.Limit
	if limit == 0 {
		limit = maxCommands
	}
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
