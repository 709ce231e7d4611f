package cluster

import (
	"cmp"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
)

// Reactions is what the value alone requires of one member. It is level-triggered: a member that acts on it after a
// crash, a missed watch or a jump to a snapshot has lost nothing.
type Reactions struct {
	InCluster   bool // prepared or joined
	State       MemberState
	Incarnation Incarnation
	// Watch is the successor in the ring, whose heartbeat this member must watch; the zero Member if it is alone.
	Watch Member
	// Accept: Watch is prepared and this member is joined, so it accepts once it has observed the heartbeat.
	Accept bool
	// Held are the held members that this one, as their predecessor in the ring, releases when their time has passed.
	Held []Member
	// Changed is the index of the last entry that changed the member's duties: equal Changed, equal Duties.
	Changed Index
}

// Reactions returns what the member should do.
func (v Value) Reactions(self MemberID) Reactions {
	rec, ok := ordered.Get(&v.members, self)
	if !ok || rec.State == MemberHeld {
		return Reactions{}
	}
	r := Reactions{InCluster: true, State: rec.State, Incarnation: rec.Incarnation, Changed: rec.Changed}
	if next := v.after(self); next != "" {
		watched, _ := ordered.Get(&v.members, next)
		r.Watch = watched.Member
		r.Accept = rec.State == MemberJoined && watched.State == MemberPrepared
	}
	ordered.Each(&v.members, func(id MemberID, m memberRecord) bool {
		if m.State == MemberHeld && v.before(id) == self {
			r.Held = append(r.Held, m.Member)
		}
		return true
	})
	return r
}

// Role is the duty of a member for a partition.
type Role uint8

// The roles.
const (
	RoleRun   Role = iota // run it under Token
	RoleStop              // stop it, then write Stopped with Token
	RoleAdopt             // run it under Token, then write Started
)

// Duty is a member's duty for one partition. Equal duties of two values that follow from each other are the same duty:
// nothing of the partition or its spec has changed.
type Duty struct {
	Partition *Partition // shared, read-only
	Role      Role
	Token     Token
	SpecIndex Index // that of the job
}

// Duties lists the member's duties, sorted by partition.
func (v Value) Duties(self MemberID) []Duty {
	var duties []Duty
	ordered.EachOf(&v.derived.byMember, string(self), func(p PartitionID) bool {
		if d, ok := v.duty(p, self); ok {
			duties = append(duties, d)
		}
		return true
	})
	return duties
}

// DutiesAfter is Duties, given those of an earlier value. If this value follows from that by at most some hundred
// entries, it derives only what they have changed.
func (v Value) DutiesAfter(before Value, duties []Duty, self MemberID) []Duty {
	touched, ok := v.recent.since(before.chain)
	if !ok || touched.len() > ordered.Len(&v.partitions) {
		return v.Duties(self)
	}
	ids := v.partitionsIn(touched)
	out := make([]Duty, 0, len(duties)+len(ids))
	for _, id := range ids {
		n, had := slices.BinarySearchFunc(duties, id,
			func(d Duty, id PartitionID) int { return cmp.Compare(d.Partition.ID, id) })
		out, duties = append(out, duties[:n]...), duties[n:]
		if had {
			duties = duties[1:]
		}
		if d, ok := v.duty(id, self); ok {
			out = append(out, d)
		}
	}
	return append(out, duties...)
}

// partitionsIn lists the partitions among what was noted, and those of the jobs, sorted.
func (v Value) partitionsIn(touched noted) []PartitionID {
	ids := make([]PartitionID, 0, touched.len())
	for _, notes := range touched {
		for _, n := range notes {
			switch n.kind {
			case kindPartition:
				ids = append(ids, PartitionID(n.id))
			case kindJob:
				v.eachOf(JobID(n.id), func(p Partition) bool {
					ids = append(ids, p.ID)
					return true
				})
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// duty derives the member's duty for a partition; false if it has none.
func (v Value) duty(id PartitionID, self MemberID) (Duty, bool) {
	rec, ok := ordered.Get(&v.partitions, id)
	if !ok || rec.Owner != self && rec.Next != self {
		return Duty{}, false
	}
	p := &rec.Partition
	d := Duty{Partition: p, Token: p.Token}
	switch {
	case p.State == PartitionHeld || p.Offered:
		return Duty{}, false
	case p.Owner != self && p.State != PartitionAdopting:
		return Duty{}, false // it is on its way here, but its owner has yet to stop
	case p.Owner != self:
		d.Role, d.Token = RoleAdopt, p.NextToken
	case p.State == PartitionReleasing:
		d.Role = RoleStop
	}
	if job, ok := ordered.Get(&v.jobs, p.job()); ok {
		d.SpecIndex = job.SpecIndex
	}
	return d, true
}
