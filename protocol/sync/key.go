package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// Naming names what a key must not spell out, so that states which differ only in that have one key.
type Naming interface {
	// Any appends all that a value holds.
	Any(b []byte, x any, skip ...string) []byte
	// Index names an index of the log. What a member does depends on the order of indexes alone.
	Index(i cluster.Index) uint64
	// Seq names a sequence number of a writer.
	Seq(w cluster.WriterID, seq uint64) int64
	// Command appends a command.
	Command(b []byte, c cluster.Command) []byte
}

// AppendKey appends what decides this member's future, for those who walk all its states: states with equal keys do the same from now on, as long as they
// have equal Params without a Poll and without a Longest, their values are alike, and nobody's history diverges. Of instants it has what was before what.
func (s State) AppendKey(b []byte, n Naming) []byte {
	g := s.group
	for _, x := range []any{
		s.Is, s.Stop, s.Inc, s.work.Changed, s.told, g.id, g.generation, g.leads, g.need, g.busy, g.begun, s.Own.Held, s.Reports, s.Contact.Problem != "", s.Contact.Refuses,
		s.Before(s.Own.Acked), s.Own.Lapsed(s.At, s.Timing()), s.At >= g.next, s.At < s.Given.ValidUntil, s.Behind(),
		s.log.Busy, s.log.Hint, s.log.Snap,
	} {
		b = n.Any(b, x)
	}
	if g.leads {
		for _, m := range g.members {
			b = n.Any(n.Any(n.Any(b, m.ID), m.Join.Member), m.Bad)
		}
	}
	for _, a := range s.Given.Grants {
		b = n.Any(n.Any(n.Any(b, a.Partition), a.Token), a.Attempt)
	}
	return appendBox(b, s.Writer(), s.log.Out, n)
}

// Before reports whether an instant was before the present epoch was applied.
func (s State) Before(sent protocol.Instant) bool { return sent < s.epochAt }

// Beating is the heartbeat that the member may send now; false if another call comes first.
func (s State) Beating() (Beat, bool) {
	g := s.group
	return Beat{Seat: store.Seat{ID: g.id, Generation: g.generation}, Session: s.session()}, g.need == needBeat && !g.busy && s.Is != member.PhaseReading
}

func appendBox(b []byte, w cluster.WriterID, o outbox.Box, n Naming) []byte {
	b = n.Any(n.Any(n.Any(n.Any(b, n.Seq(w, o.Seq)), o.Busy), o.Tries()), o.Pending != nil)
	if o.Pending == nil {
		return b
	}
	b = n.Any(n.Any(b, o.Pending.Known), o.Pending.Maybe)
	return appendEntry(b, o.Pending.Entry, n)
}

// appendEntry appends what an entry says. What its writer had read matters where it lists all that it owns.
func appendEntry(b []byte, e cluster.Entry, n Naming) []byte {
	b = n.Any(n.Any(b, e.Writer), n.Seq(e.Writer, e.Seq))
	for _, c := range e.Commands {
		b = n.Command(append(b, 1), c)
		if o, ok := c.(cluster.Own); ok && o.Full {
			b = n.Any(b, e.BaseIndex)
		}
	}
	return append(b, 0)
}

// AppendEffect appends what an effect asks for.
func AppendEffect(b []byte, e member.Effect, n Naming) []byte {
	if a, ok := e.(Append); ok {
		return appendEntry(append(b, 'a'), a.Entry, n)
	}
	return n.Any(append(b, 'e'), e)
}

// AppendEvent appends what the answer to an append says to a member that has applied everything up to an index.
func AppendEvent(b []byte, ev member.Event, applied cluster.Index, n Naming) []byte {
	a := ev.(member.Appended)
	return n.Any(n.Any(n.Any(b, a.Outcome), a.Index == applied+1), a.Index)
}

// AppendValue appends what of the value decides what it does next, besides who is in it and owns what.
func AppendValue(b []byte, v *cluster.Value, n Naming) []byte {
	e, _ := v.Epoch()
	b = n.Any(b, e, "Announcement.SinceMS")
	for p := range v.Partitions() {
		b = n.Any(n.Any(b, p.Deaths), p.Attempts)
	}
	return b
}
