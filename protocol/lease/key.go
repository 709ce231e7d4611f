package lease

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

// namer appends to a key.
type namer struct {
	n member.Naming
	b []byte
}

func (k *namer) any(xs ...any) {
	for _, x := range xs {
		k.b = k.n.Any(k.b, x, "Member.SinceMS", "Partition.ChangedMS")
	}
}

// alias appends which of the texts of a kind it is; "" is none.
func (k *namer) alias(kind, text string) {
	if text == "" {
		k.b = append(k.b, 0)
		return
	}
	k.b = k.n.Alias(append(k.b, 1), kind+text)
}

func (k *namer) version(key string, v store.Version) {
	if v != "" {
		v = store.Version(key+"@") + v
	}
	k.alias("version ", string(v))
}

func (k *namer) number(kind string, n uint64) { k.alias(kind, strconv.FormatUint(n, 10)) }

// call appends whether a call is under way, or may be made.
func (k *namer) call(c call, now protocol.Instant) { k.any(c.busy, now >= c.next) }

// AppendKey appends what decides this member's future, for those who walk all its states: states with equal keys do the same from now on, as long as they
// have equal Params without a Poll and without a Longest. Of instants it has what is due.
func (s State) AppendKey(b []byte, n member.Naming) []byte {
	k := &namer{n, b}
	t := s.Timing()
	k.any(s.Is, s.Life, s.Inc, s.Stop, s.Contact.Problem != "", s.Contact.Refuses, s.At >= s.claimRest, len(s.queue))
	k.any(s.Own.Held, s.Own.Lapsed(s.At, t), s.At >= s.Own.Next, s.Own.Key, s.Own.Busy)
	k.any(s.Own.TTL, s.Own.Short != 0, s.Pace.Doubled)
	k.call(s.name.call, s.At)
	k.call(s.name.fence, s.At)
	k.observation(s.name.seen, &s)
	k.any(s.name.clear, s.name.replaces)
	k.look(&s)
	k.lead(&s)
	for _, x := range s.tries {
		k.try(x, &s)
	}
	k.any("held")
	for _, h := range s.held {
		k.any(h.partition, h.specIndex, h.missing != 0, s.At >= h.next)
		k.version(partitionKey(h.id), h.version)
	}
	k.any(s.shuns, s.Reports, s.Behind(), s.At < s.Given.ValidUntil)
	for _, g := range s.Given.Grants {
		k.any(g.Partition, g.Token, g.Attempt)
	}
	k.value(&s.value)
	return k.b
}

func (k *namer) observation(o heartbeat.Observation, s *State) {
	k.any(o.Key, o.Known, o.Listed, o.Missing)
	k.version(o.Key, o.Version)
	k.any(s.Dead(o))
}

func (k *namer) look(s *State) {
	l := s.look
	for _, c := range [...]call{l.call, l.lock, l.own, l.view} {
		k.call(c, s.At)
	}
	k.any(l.hint, l.board.View > l.shown, l.leader.Holder, l.election.Known, l.election.Vacant != 0, l.board.Index == l.index, l.board.Specs > l.specs, l.board.Free, l.board.Stop)
	k.number("term ", l.leader.Term)
	k.version(keyLeader, l.lockAt)
	k.version(keyBoard, l.boardAt)
	k.version(keyLeader, l.election.Seen.Version)
	k.observation(l.election.Holder, s)
	for _, m := range l.members {
		k.any(m.ID, m.Heartbeat, m.State)
	}
	for _, f := range l.since {
		k.any(s.At.Sub(f.since) >= s.Params.TTL)
	}
}

func (k *namer) lead(s *State) {
	l := s.lead
	if k.any(l.holds); !l.holds {
		return
	}
	k.call(l.call, s.At)
	k.call(l.show, s.At)
	k.number("term ", l.term)
	k.any(l.hint, l.any, l.any && l.seen.Index() == s.value.Index() && l.seen.Digest() == s.value.Digest())
	for _, o := range l.beats {
		k.observation(o, s)
	}
	for _, h := range l.holdAt {
		k.any(h.inc, s.At.Sub(h.since) >= s.Hold)
	}
	k.alias("layout ", l.laid)
	k.any("writes", len(l.writes))
	for _, w := range l.writes {
		k.any(w.id != 0, w.remove)
		k.doc(w.doc)
	}
}

func (k *namer) try(x try, s *State) {
	k.any("try", x.command, x.busy, s.At >= x.next, x.request, x.index, x.taking, x.again, x.proved, x.lost, x.ask)
	if x.lost || x.busy {
		k.doc(x.put)
	}
	for _, d := range x.docs {
		k.version(d.Key, d.Version)
	}
}

// AppendDoc appends what a document says.
func AppendDoc(b []byte, d store.Doc, n member.Naming) []byte {
	k := &namer{n, b}
	k.doc(d)
	return k.b
}

func (k *namer) doc(d store.Doc) {
	if strings.HasPrefix(d.Key, viewPrefix) {
		return // it is what the member that wrote it last has as its value
	}
	k.any(d.Key)
	k.version(d.Key, d.Version)
	if strings.HasPrefix(d.Key, nodePrefix) {
		n, _ := read[nodeDoc](readable(d))
		k.any(n.State, n.Member)
		return
	}
	k.alias("value ", string(d.Value))
	f := learn([]store.Doc{readable(d)})
	k.any(f.config.Index, f.nodes.Index)
	for _, m := range f.members {
		k.any(m)
	}
	for _, id := range f.jobIDs {
		k.any(f.jobs[id].job.State, f.jobs[id].doc.Submitted)
	}
	for _, p := range f.partitions {
		k.any(p.partition, p.doc.Holder, p.doc.State, p.doc.Token, p.doc.By, p.doc.Of, p.doc.Spec, len(p.doc.Said))
	}
	switch d.Key {
	case keyLeader:
		l, _ := read[leaderDoc](readable(d))
		k.any(l.Holder)
		k.number("term ", l.Term)
	case keyBoard:
		x, _ := read[boardDoc](readable(d))
		k.number("term ", x.Term)
		k.number("view ", x.View)
		k.any(x.Index, x.Specs, x.Free, x.Stop)
	}
}

// readable is a document that is about to be written, as if it were there.
func readable(d store.Doc) store.Doc {
	d.Version = "any"
	return d
}

func (k *namer) value(v *cluster.Value) {
	for m := range v.Members() {
		k.any(m.ID, m.State, m.Incarnation, m.Heartbeat, m.Draining)
	}
	for p := range v.Partitions() {
		k.any(p.ID, p.Owner, p.State, p.Token, p.Offered, p.Dropped, p.Next, p.Slot)
	}
}

// AppendEffect appends what an effect of a member asks for.
func AppendEffect(b []byte, e member.Effect, n member.Naming) []byte {
	k := &namer{n, b}
	switch e := e.(type) {
	case Fetch:
		k.any("fetch", e.Keys)
	case Survey:
		k.any("survey", slices.DeleteFunc(slices.Clone(e.Keys), func(key string) bool { return !strings.HasPrefix(key, nodePrefix) }))
	case Write:
		k.any("write", e.Delete)
		k.doc(e.Doc)
	case member.Renew:
		k.any("renew", e.Key, e.Create)
	case ReadView:
		k.any("read view")
	case Show:
		k.any("show")
		k.value(&e.Value)
	}
	return k.b
}
