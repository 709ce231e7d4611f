package cluster

import (
	"cmp"
	"slices"
)

// Placement is how free partitions get owners. It is chosen once for a store, by its protocol.
type Placement uint8

// The placements.
const (
	PlacementPlanned Placement = iota // the value's plan grants it, and its owner has it at once
	PlacementOffered                  // the plan offers it; the owner has it when it has accepted the offer
	PlacementClaimed                  // members claim free partitions
	PlacementShared                   // owners share their partitions
)

// Place chooses the placement of a cluster that has none yet, before the first member joins. The first [Lead] implies PlacementOffered.
type Place struct{ Placement Placement }

func (Place) command() {}

// Leadership names the writer that may append, and since when.
type Leadership struct {
	Member  MemberID
	Writer  WriterID // of the only entries that count
	Term    uint64
	Since   Index // of the entry that started the term
	SinceMS int64 // wall clock of its writer, for people
	OfferMS int64 // validity of an offer
}

// Leader returns the leader; false if there has never been one.
func (v Value) Leader() (Leadership, bool) { return v.leader, v.leader.Term != 0 }

// MaxStandBys is the number of members, besides the leader, that hold the whole value and are ready to lead.
const MaxStandBys = 2

// StandBys returns the members that follow the leader, the first one first: those that joined first.
func (v Value) StandBys() (out []MemberID) {
	l, ok := v.Leader()
	if !ok {
		return nil
	}
	var all []Member
	v.members.Each(func(_ MemberID, m memberRecord) bool {
		if m.State == MemberJoined && m.ID != l.Member {
			all = append(all, m.Member)
		}
		return true
	})
	slices.SortFunc(all, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Incarnation, b.Incarnation), cmp.Compare(a.ID, b.ID))
	})
	for _, m := range all[:min(len(all), MaxStandBys)] {
		out = append(out, m.ID)
	}
	return out
}

func (d *draft) place(c Place) string {
	switch {
	case c.Placement == d.settings.Placement:
		return ""
	case d.settings.Placement != PlacementPlanned || d.Value.members.Len() > 0:
		return "the placement of this cluster is " + d.settings.Placement.String()
	case c.Placement == PlacementOffered:
		return "a leader chooses it, by its first entry"
	}
	d.setPlacement(c.Placement)
	return ""
}

func (d *draft) setPlacement(p Placement) {
	d.digest -= d.settingsHash()
	d.settings.Placement = p
	d.digest += d.settingsHash()
}

// leaderHash is zero for a cluster without a leader.
func (d *draft) leaderHash() Hash {
	if d.leader.Term == 0 {
		return 0
	}
	d.buf = appendLeadership(d.buf[:0], d.leader)
	return hashBytes(kindLeader, &d.buf)
}

// notLed tells why an entry does not count for who wrote it, "" if it does: where somebody leads, only that writer's entries count, and those by which
// another one begins to lead under a higher term.
func (v *Value) notLed(e *Entry) string {
	if len(e.Commands) > 0 {
		if c, ok := e.Commands[0].(Lead); ok {
			return v.leadRefused(c)
		}
	}
	if v.leader.Term == 0 || e.Writer == v.leader.Writer {
		return ""
	}
	return "its writer does not lead: " + string(v.leader.Member) + " does"
}

func (v *Value) leadRefused(c Lead) string {
	switch {
	case v.leader.Term == 0 && (v.settings.Placement != PlacementPlanned || v.members.Len() > 0):
		return "the members of this cluster have no leader"
	case c.Term <= v.leader.Term:
		return "the term is not above the present one"
	}
	return ""
}

// lead begins a term. What refuses it has refused its entry, if it is the first command.
func (d *draft) lead(c Lead) string {
	if why := d.leadRefused(c); why != "" {
		return why
	}
	d.digest -= d.leaderHash()
	d.leader = Leadership{Member: c.Member, Writer: d.writer, Term: c.Term, Since: d.at, SinceMS: d.atMS, OfferMS: c.OfferMS}
	d.digest += d.leaderHash()
	if d.settings.Placement == PlacementPlanned {
		d.setPlacement(PlacementOffered)
	}
	return ""
}
