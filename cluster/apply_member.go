package cluster

import (
	"cmp"
	"slices"
)

func (d *draft) prepareJoin(c PrepareJoin) string {
	old, had := d.Value.members.Get(c.Member)
	switch {
	case d.shared():
		return inGroup
	case had && old.Incarnation == d.at:
		return "it is prepared by this entry"
	case had && old.Incarnation != c.Replaces:
		return "another start of this member is in the cluster"
	case !had && c.Replaces != 0:
		return "the start that it replaces has left"
	}
	if had && old.State != MemberHeld {
		d.release(c.Member, end{}, "restarted")
		d.removeMember(c.Member)
	}
	d.setMember(Member{
		ID: c.Member, Incarnation: d.at, State: MemberPrepared, Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity,
		Labels: c.Labels, Heartbeat: c.Heartbeat, Address: c.Address, Version: c.Version, SinceMS: d.atMS,
	})
	if c.Again {
		d.acquit(c.Member)
	}
	if d.settings.Placement == PlacementOffered { // the leader has seen its heartbeat
		m, _ := d.Value.members.Get(c.Member)
		d.join(m.Member)
	}
	d.membersChanged()
	return ""
}

func (d *draft) acceptJoin(c AcceptJoin) string {
	m, ok := d.Value.members.Get(c.Member)
	by, okBy := d.Value.members.Get(c.By)
	switch {
	case !ok || m.Incarnation != c.Incarnation:
		return "no such attempt to join"
	case m.State != MemberPrepared:
		return "it is not prepared"
	case !okBy || by.Incarnation != c.ByIncarnation || by.State != MemberJoined:
		return "who accepts is not a joined member"
	case d.Successor(c.By) != c.Member:
		return "who accepts does not precede it in the ring"
	}
	d.join(m.Member)
	return ""
}

// join makes a prepared member a full one and gives back what was held for it.
func (d *draft) join(m Member) {
	m.State, m.SinceMS = MemberJoined, d.atMS
	d.setMember(m)
	for _, id := range d.ownedIDs(m.ID) {
		if p, _ := d.edit(id); p.State == PartitionHeld && p.Owner == m.ID {
			d.grant(p, m.ID, "its member restarted")
		}
	}
	d.membersChanged()
}

func (d *draft) abortJoin(c AbortJoin) string {
	m, ok := d.Value.members.Get(c.Member)
	switch {
	case !ok || m.Incarnation != c.Incarnation:
		return "no such attempt to join"
	case m.State != MemberPrepared:
		return "it is not prepared"
	}
	d.release(c.Member, end{}, "its member did not come back")
	d.removeMember(c.Member)
	d.membersChanged()
	return ""
}

func (d *draft) leaveCluster(c LeaveCluster) string {
	m, ok := d.Value.members.Get(c.Member)
	switch {
	case !ok || m.Incarnation != c.Incarnation:
		return "no such member"
	case m.State == MemberHeld:
		return "it has left and is held"
	}
	hold := c.Hold && m.State == MemberJoined && d.derived.joined > 1 // somebody must be there who ends it
	d.release(c.Member, end{hold: hold, died: c.Died && !hold}, string(c.Member)+" left: "+cmp.Or(c.Reason, "no reason given"))
	if hold {
		m.State = MemberHeld
		d.setMember(m.Member)
	} else {
		d.removeMember(c.Member)
	}
	if d.derived.joined == 0 && !d.claimed() {
		d.releaseAll()
	}
	d.membersChanged()
	return ""
}

// releaseAll ends all holds: the last joined member has left, and whoever comes next takes what waits.
func (d *draft) releaseAll() {
	var held []MemberID
	d.Value.members.Each(func(id MemberID, m memberRecord) bool {
		if m.State == MemberHeld {
			held = append(held, id)
		}
		return true
	})
	for _, id := range held {
		d.release(id, end{}, string(id)+" did not come back before the last member left")
		d.removeMember(id)
	}
}

func (d *draft) releaseHold(c ReleaseHold) string {
	m, ok := d.Value.members.Get(c.Member)
	if !ok || m.Incarnation != c.Incarnation || m.State != MemberHeld {
		return "nothing is held for it"
	}
	d.release(c.Member, end{}, string(c.Member)+" did not come back in time")
	d.removeMember(c.Member)
	d.membersChanged()
	return ""
}

func (d *draft) confirmMember(c ConfirmMember) string {
	if d.shared() {
		return inGroup
	}
	m, ok := d.Value.members.Get(c.Member)
	if !ok || m.Incarnation != c.Incarnation || m.State == MemberHeld {
		return "no such member: it was removed"
	}
	m.Incarnation, m.Heartbeat = d.at, c.Heartbeat
	if m.Revoked {
		m.Revoked = false
		d.membersChanged()
	}
	d.setMember(m.Member)
	return ""
}

func (d *draft) drainMember(c DrainMember) string {
	m, ok := d.Value.members.Get(c.Member)
	switch {
	case !ok:
		return "no such member"
	case m.Draining == c.On:
		return ""
	}
	m.Draining = c.On
	d.setMember(m.Member)
	if c.On {
		d.vacateAll(c.Member)
	}
	d.membersChanged()
	return ""
}

// membersChanged asks for a new plan and keeps the rule that somebody is joined whenever somebody could be: when the last joined
// member goes, nobody else could accept the prepared ones, so the oldest of them is in.
func (d *draft) membersChanged() {
	d.replan, d.members = true, true
	if d.derived.joined > 0 {
		return
	}
	var oldest Member
	d.Value.members.Each(func(_ MemberID, m memberRecord) bool {
		if m.State == MemberPrepared && (oldest.ID == "" || m.Incarnation < oldest.Incarnation) {
			oldest = m.Member
		}
		return true
	})
	if oldest.ID != "" {
		d.join(oldest)
	}
}

func (d *draft) ownedIDs(m MemberID) []PartitionID {
	ids := make([]PartitionID, 0, d.derived.byMember.Len(string(m)))
	d.derived.byMember.Each(string(m), func(id PartitionID) bool {
		ids = append(ids, id)
		return true
	})
	return ids
}

// end is how a member goes: what it had is held for it, or its death counts for what it ran.
type end struct{ hold, died bool }

// release takes everything from a member that is going.
func (d *draft) release(m MemberID, how end, cause string) {
	ids := d.ownedIDs(m)
	d.notes = slices.Grow(d.notes, len(ids))
	d.derived.forgetMember(m)
	for _, id := range ids {
		p, _ := d.edit(id)
		if how.died && p.diedWith(m) && d.maxAttempts(id) > 0 {
			p.Deaths++
		}
		if p.Owner == m {
			d.ownerGone(p, how.hold, cause)
		} else {
			d.targetGone(p)
		}
	}
}

func (d *draft) ownerGone(p *partitionRecord, hold bool, cause string) {
	switch {
	case p.Dropped || p.class == nil:
		d.removePartition(p.ID)
	case d.poison(p):
	case p.State == PartitionReleasing && p.Next != "":
		d.grant(p, p.Next, cause)
	case p.State == PartitionAdopting:
		d.adopted(p, cause)
	case hold && p.State == PartitionGranted && !p.Offered:
		p.State, p.Cause = PartitionHeld, cause
		d.setPartition(p)
	default:
		d.free(p, cause)
	}
}

// targetGone undoes a move whose target is going. A releasing owner has been told to stop, so that goes on.
func (d *draft) targetGone(p *partitionRecord) {
	p.Next, p.NextToken = "", 0
	if p.State == PartitionAdopting {
		p.State = PartitionGranted
	}
	d.setPartition(p)
	d.replan = true
}
