package lease

import (
	"strconv"
	"strings"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/store"
)

// namer appends to a key, of a state or of a document.
type namer struct {
	n member.Naming
	b []byte
	s *State
}

// version is one of a document. Here, and of numbers that are given to terms and views, it counts which are equal.
type version struct {
	key string
	at  store.Version
}

type number struct {
	kind string
	n    uint64
}

// any appends what decides: of instants what is due, and whether the owner of a heartbeat is dead.
func (k *namer) any(xs ...any) {
	for _, x := range xs {
		switch x := x.(type) {
		case call:
			k.any(x.busy, k.s.At >= x.next)
		case heartbeat.Observation:
			k.any(x.Key, x.Known, x.Listed, x.Missing, version{x.Key, x.Version}, k.s.Dead(x))
		case version:
			k.alias("version "+x.key+"@", string(x.at))
		case number:
			k.alias(x.kind+" ", strconv.FormatUint(x.n, 10))
		default:
			k.b = k.n.Any(k.b, x, "Member.SinceMS", "Partition.ChangedMS")
		}
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

// AppendKey appends what decides this member's future besides its value, for those who walk all its states: states with
// equal keys do the same from now on, as long as they have equal Params without a Poll and without a Longest.
func (s State) AppendKey(b []byte, n member.Naming) []byte {
	k, l := &namer{n, b, &s}, s.look
	k.any(s.Is, s.Life, s.Inc, s.Stop, s.Contact.Problem != "", s.Contact.Refuses, s.At >= s.claimRest, len(s.queue),
		s.Own.Held, s.Own.Lapsed(s.At, s.Timing()), s.At >= s.Own.Next, s.Own.Key, s.Own.Busy, s.Own.TTL, s.Own.Short != 0,
		s.Pace.Doubled, s.name.call, s.name.fence, s.name.seen, s.name.clear, s.name.replaces, l.call, l.lock, l.own, l.view,
		l.hint, l.board.View > l.shown, l.leader.Holder, l.election.Known, l.election.Vacant != 0, l.board.Index == l.index,
		l.board.Specs > l.specs, l.board.Free, l.board.Stop, number{"term", l.leader.Term}, version{keyLeader, l.lockAt},
		version{keyBoard, l.boardAt}, version{keyLeader, l.election.Seen.Version}, l.election.Holder)
	for _, m := range l.members {
		k.any(m.ID, m.Heartbeat, m.State)
	}
	for _, f := range l.since {
		k.any(s.At.Sub(f.since) >= s.Params.TTL)
	}
	if k.any(s.lead.holds); s.lead.holds {
		k.lead(s.lead)
	}
	for _, x := range s.tries {
		k.try(x)
	}
	k.any("held")
	for _, h := range s.held {
		k.any(h.partition, h.specIndex, h.missing != 0, s.At >= h.next, version{partitionKey(h.id), h.version})
	}
	k.any(s.shuns, s.Reports, s.Behind(), s.At < s.Given.ValidUntil)
	for _, g := range s.Given.Grants {
		k.any(g.Partition, g.Token, g.Attempt)
	}
	return k.b
}

func (k *namer) lead(l lead) {
	shown := l.seen != nil
	told := shown && l.seen.Index() == k.s.value.Index() && l.seen.Digest() == k.s.value.Digest()
	k.any(l.call, l.show, number{"term", l.term}, l.hint, shown, told)
	for _, o := range l.beats {
		k.any(o)
	}
	for _, h := range l.holdAt {
		k.any(h.Incarnation, k.s.At.Sub(h.Since) >= k.s.Hold)
	}
	k.alias("layout ", l.laid)
	k.any("writes", len(l.writes))
	for _, w := range l.writes {
		k.any(w.id != 0, w.remove)
		k.doc(w.doc)
	}
}

func (k *namer) try(x try) {
	k.any("try", x.command, x.busy, k.s.At >= x.next, x.request, x.index, x.taking, x.again, x.proved, x.lost, x.ask)
	if x.lost || x.busy {
		k.doc(x.put)
	}
	for _, d := range x.docs {
		k.any(version{d.Key, d.Version})
	}
}

// AppendDoc appends what a document says.
func AppendDoc(b []byte, d store.Doc, n member.Naming) []byte {
	k := &namer{n: n, b: b}
	k.doc(d)
	return k.b
}

func (k *namer) doc(d store.Doc) {
	if strings.HasPrefix(d.Key, viewPrefix) {
		return // it is what the member that wrote it last has as its value
	}
	k.any(d.Key, version{d.Key, d.Version})
	if d.Version = "any"; strings.HasPrefix(d.Key, nodePrefix) { // as if it were there
		n, _ := read[nodeDoc](d)
		k.any(n.State, n.Member)
		return
	}
	k.alias("value ", string(d.Value))
	f := learn([]store.Doc{d})
	k.any(f.config.Index, f.nodes.Index)
	for _, m := range f.members {
		k.any(m)
	}
	for _, j := range f.jobs {
		k.any(j.job.State, j.doc.Submitted)
	}
	for _, p := range f.partitions {
		k.any(p.partition, p.doc.Holder, p.doc.State, p.doc.Token, p.doc.By, p.doc.Of, p.doc.Spec, len(p.doc.Said))
	}
	switch d.Key {
	case keyLeader:
		l, _ := read[leaderDoc](d)
		k.any(l.Holder, number{"term", l.Term})
	case keyBoard:
		x, _ := read[boardDoc](d)
		k.any(number{"term", x.Term}, number{"view", x.View}, x.Index, x.Specs, x.Free, x.Stop)
	}
}
