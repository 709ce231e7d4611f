package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
)

// LeaveCluster removes a member and frees its grants. Hold keeps its grants for an announced restart. Died means that
// others report its death: it is counted for the partitions that the member ran.
type LeaveCluster struct {
	Member      MemberID
	Incarnation Incarnation
	Reason      string
	Hold        bool
	Died        bool
}

func (LeaveCluster) tag() byte { return 4 }

func (c LeaveCluster) code(x *coder) Command {
	codeText(x, &c.Member)
	codeUint(x, &c.Incarnation)
	codeText(x, &c.Reason)
	codeFlags(x, &c.Hold, &c.Died)
	return made(x, c)
}

func (c LeaveCluster) check() error {
	return errors.Join(at("member", CheckName(string(c.Member))), at("reason", checkText(c.Reason)))
}

// String returns the command on one line.
func (c LeaveCluster) String() string {
	s := fmt.Sprintf("leave-cluster %s@%d %q", c.Member, c.Incarnation, c.Reason)
	if c.Hold {
		s += " hold"
	}
	if c.Died {
		s += " died"
	}
	return s
}

func (c LeaveCluster) apply(d *draft) string {
	m, ok := ordered.Get(&d.Value.members, c.Member)
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

// releaseAll ends all holds, because the last joined member has left: the next one to join takes what waits.
func (d *draft) releaseAll() {
	var held []MemberID
	ordered.Each(&d.Value.members, func(id MemberID, m memberRecord) bool {
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

// ReleaseHold frees the grants that are held for a member that announced a restart and did not return.
type ReleaseHold struct {
	Member      MemberID
	Incarnation Incarnation
}

func (ReleaseHold) tag() byte { return 5 }

func (c ReleaseHold) code(x *coder) Command {
	codeText(x, &c.Member)
	codeUint(x, &c.Incarnation)
	return made(x, c)
}

func (c ReleaseHold) check() error {
	return at("member", CheckName(string(c.Member)))
}

// String returns the command on one line.
func (c ReleaseHold) String() string {
	return fmt.Sprintf("release-hold %s@%d", c.Member, c.Incarnation)
}

func (c ReleaseHold) apply(d *draft) string {
	m, ok := ordered.Get(&d.Value.members, c.Member)
	if !ok || m.Incarnation != c.Incarnation || m.State != MemberHeld {
		return "nothing is held for it"
	}
	d.release(c.Member, end{}, string(c.Member)+" did not come back in time")
	d.removeMember(c.Member)
	d.membersChanged()
	return ""
}

// DrainMember stops or resumes new grants to a member; with On, its grants move away under their hand-over contract.
type DrainMember struct {
	Member MemberID
	On     bool
}

func (DrainMember) tag() byte { return 6 }

func (c DrainMember) code(x *coder) Command {
	codeText(x, &c.Member)
	codeBool(x, &c.On)
	return made(x, c)
}

func (c DrainMember) check() error {
	return at("member", CheckName(string(c.Member)))
}

// String returns the command on one line.
func (c DrainMember) String() string {
	if c.On {
		return "drain-member " + string(c.Member)
	}
	return "undrain-member " + string(c.Member)
}

func (c DrainMember) apply(d *draft) string {
	m, ok := ordered.Get(&d.Value.members, c.Member)
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

// vacateAll takes the slots of a member that is draining, and reports whether it had any left.
func (d *draft) vacateAll(m MemberID) (had bool) {
	for _, id := range d.ownedIDs(m) {
		if p, _ := ordered.Get(&d.partitions, id); p.Slot != 0 && !p.Dropped {
			d.vacate(id, string(m)+" is draining")
			had = true
		}
	}
	return had
}

func (d *draft) ownedIDs(m MemberID) []PartitionID {
	ids := make([]PartitionID, 0, ordered.Count(&d.derived.byMember, string(m)))
	ordered.EachOf(&d.derived.byMember, string(m), func(id PartitionID) bool {
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

// targetGone cancels a move whose target leaves. An owner that was told to stop still stops.
func (d *draft) targetGone(p *partitionRecord) {
	p.Next, p.NextToken = "", 0
	if p.State == PartitionAdopting {
		p.State = PartitionGranted
	}
	d.setPartition(p)
	d.replan = true
}

// maxDeaths is how many owners may die in a row while they run a partition. Then it is parked: it may be what kills
// them, and would go from member to member. Only a task that may be parked at all has its deaths counted: who kills all
// members of a cluster one after the other kills the owners of innocent tasks too.
const maxDeaths = 3

// poisoned is the cause of such a partition.
const poisoned = "its owners died"

// diedWith reports whether the death of its owner counts for a partition. For one of a pool it does not: that is a
// slot's share of a task, whose attempts count by other means.
func (p *partitionRecord) diedWith(owner MemberID) bool {
	return p.Owner == owner && !p.Dropped && p.class != nil && p.Slot == 0 && p.State != PartitionHeld
}

// poison parks a partition whose owners died too often; false if it has not come to that.
func (d *draft) poison(p *partitionRecord) bool {
	if p.Deaths < maxDeaths {
		return false
	}
	p.From, p.Owner, p.Next, p.NextToken = p.Owner, "", "", 0
	p.State, p.Cause = PartitionParked, poisoned
	d.setPartition(p)
	d.replan = true
	return true
}

// acquit forgives deaths, because a member that was reported dead is back as the same process: it is the store that
// fails. What was parked by its death runs again.
func (d *draft) acquit(m MemberID) {
	var ids []PartitionID
	ordered.Each(&d.Value.partitions, func(id PartitionID, p *partitionRecord) bool {
		if p.Deaths > 0 && (p.State != PartitionParked || p.From == m) {
			ids = append(ids, id)
		}
		return true
	})
	for _, id := range ids {
		p, _ := d.edit(id)
		if p.State != PartitionParked || p.Cause != poisoned {
			d.calm(p)
			continue
		}
		p.Deaths = 0
		d.retry(p, string(m)+" is alive")
	}
}

// calm forgives the deaths: its owner has run it for long enough.
func (d *draft) calm(p *partitionRecord) {
	p.Deaths = 0
	d.setPartition(p)
}
