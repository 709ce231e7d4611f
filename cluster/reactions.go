package cluster

// Reactions is what the value alone requires of one member. It is level-triggered: a member that acts on it after a crash, a missed watch or
// a jump to a snapshot has lost nothing.
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
	rec, ok := v.members.get(self)
	if !ok || rec.State == MemberHeld {
		return Reactions{}
	}
	r := Reactions{InCluster: true, State: rec.State, Incarnation: rec.Incarnation, Changed: rec.Changed}
	if next := v.after(self); next != "" {
		watched, _ := v.members.get(next)
		r.Watch = watched.Member
		r.Accept = rec.State == MemberJoined && watched.State == MemberPrepared
	}
	v.members.each(func(id MemberID, m memberRecord) bool {
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

// Duty is a member's duty for one partition.
type Duty struct {
	Partition Partition
	Role      Role
	Token     Token
}

// Duties lists the member's duties, sorted by partition.
func (v Value) Duties(self MemberID) []Duty {
	var duties []Duty
	for p := range v.OwnedBy(self) {
		d := Duty{Partition: p, Token: p.Token}
		switch {
		case p.State == PartitionHeld || p.Offered:
			continue
		case p.Owner != self && p.State != PartitionAdopting:
			continue // it is on its way here, but its owner has yet to stop
		case p.Owner != self:
			d.Role, d.Token = RoleAdopt, p.NextToken
		case p.State == PartitionReleasing:
			d.Role = RoleStop
		}
		duties = append(duties, d)
	}
	return duties
}
