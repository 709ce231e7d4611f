package replica

import (
	"encoding/binary"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/outbox"
)

// Naming names what a key must not spell out, so that states which differ only in that have one key.
type Naming interface {
	// Index names an index of the log. What a member does depends on the order of indexes alone.
	Index(i cluster.Index) uint64
	// Seq names a sequence number of a writer. Only its order matters, and where the writer's newest applied one stands in it.
	Seq(w cluster.WriterID, seq uint64) int64
	// Known tells whether what is known of a heartbeat can still matter: whether a member may have it, now or later.
	Known(key string) bool
	// Command appends a command.
	Command(b []byte, c cluster.Command) []byte
}

// AppendKey appends what decides this member's future, for those who walk all its states: states with equal keys do the same from
// now on, as long as they have equal Params and their values are alike, and nobody's history diverges. The value itself,
// chain hashes, snapshots, requests that wait and what people are told of the store are left out.
func (s State) AppendKey(b []byte, n Naming) []byte {
	k := keyWriter{b, n}
	k.number(int64(s.Is), int64(s.At), int64(s.Life)) //nolint:gosec // only told apart
	k.index(s.Inc, s.work.Changed)
	k.flag(s.log.Began, s.Joined, s.sweep.busy, s.check.busy, s.log.Busy, s.log.Hint, s.log.Snap, s.log.Saving(), s.Own.Busy, s.Own.Held, s.log.Out.Busy)
	k.text(s.Stop, s.watching, s.Own.Key)
	for _, c := range [...]call{{next: s.log.Next, rest: s.log.Rest}, s.sweep, s.check, {next: s.log.Out.Next}} {
		k.number(int64(c.next), int64(c.rest))
	}
	k.number(int64(s.Own.Acked), int64(s.Own.Next), int64(s.checkSent))
	k.number(int64(s.Own.TTL), int64(s.Own.Short), int64(s.Pace.Doubled), int64(s.Pace.Slow), int64(s.Pace.Calm), int64(s.Own.Asked))
	k.observation(s.claim)
	for _, o := range s.heartbeats {
		if n.Known(o.Key) {
			k.observation(o)
		}
	}
	k.flag(false)
	k.outbox(s.Writer(), s.log.Out)
	k.work(s)
	return k.b
}

type keyWriter struct {
	b []byte
	n Naming
}

func (k *keyWriter) number(ns ...int64) {
	for _, n := range ns {
		k.b = binary.AppendVarint(k.b, n)
	}
}

func (k *keyWriter) index(is ...cluster.Index) {
	for _, i := range is {
		k.b = binary.AppendUvarint(k.b, k.n.Index(i))
	}
}

func (k *keyWriter) flag(fs ...bool) {
	for _, f := range fs {
		if f {
			k.b = append(k.b, 1)
		} else {
			k.b = append(k.b, 0)
		}
	}
}

func (k *keyWriter) text(ts ...string) {
	for _, t := range ts {
		k.number(int64(len(t)))
		k.b = append(k.b, t...)
	}
}

func (k *keyWriter) observation(o heartbeat.Observation) {
	k.text(o.Key, string(o.Version))
	k.number(int64(o.TTL), int64(o.Since), int64(o.Looked), int64(o.Seen), int64(o.From), int64(o.Last))
	k.flag(o.Known, o.Listed, o.Missing)
}

func (k *keyWriter) outbox(w cluster.WriterID, o outbox.Box) {
	k.number(k.n.Seq(w, o.Seq), int64(o.Limit))
	for _, tries := range o.Tries() {
		k.number(int64(tries))
	}
	k.flag(o.Pending != nil)
	if o.Pending == nil {
		return
	}
	k.index(o.Pending.Known)
	k.flag(o.Pending.Maybe, o.Pending.Acks > 0)
	k.number(k.n.Seq(w, o.Pending.Entry.Seq))
	for _, c := range o.Pending.Entry.Commands {
		k.b = k.n.Command(k.b, c)
	}
}

func (k *keyWriter) work(s State) {
	k.flag(s.Behind())
	k.number(int64(s.Given.ValidUntil), int64(len(s.Reports)), int64(len(s.Given.Grants)), int64(len(s.work.Holds)))
	for _, r := range s.Reports {
		k.text(string(r.Partition), r.Message)
		k.index(r.Token)
		k.number(int64(r.State), r.Attempt)
	}
	for _, g := range s.Given.Grants {
		k.text(string(g.Partition))
		k.index(g.Token)
		k.number(g.Attempt)
	}
	for _, h := range s.work.Holds {
		k.index(h.Incarnation)
		k.number(int64(h.Since))
	}
}
