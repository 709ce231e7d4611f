package cluster

import (
	"cmp"
	"fmt"
	"slices"
)

type (
	// Epoch is what the leader of a group announces about its members, where Settings.Placement is shared. At its index those that it does not name are
	// removed, those that are new are joined, and what has no owner then is placed. It counts if it is above the present one: first by Start, then by
	// Generation.
	Epoch struct {
		Start      uint64 // how often the group began again, with small generations
		Generation uint64
		Leader     MemberID
		Members    []EpochMember // sorted by name
	}
	// Share gives a partition to a member of the present epoch; To is "" where the owner may not run it and nobody else may. If it is refused, the owner
	// keeps the partition.
	Share struct {
		Partition PartitionID
		Token     Token
		To        MemberID
	}
	// Own is what a member says of itself, for those who read the records: all that it owns, after an epoch, or what came to it since. It changes nothing,
	// and is refused where the value has something else.
	Own struct {
		Member      MemberID
		Incarnation Incarnation
		Full        bool  // since the epoch began
		Count       int64 // how many it owns
		Partitions  []Owned
	}
)

// EpochMember is one member of an epoch. Its Heartbeat tells starts apart.
type EpochMember struct {
	// Incarnation is that of a member which the leader knows, and then Join has the name and the heartbeat alone. One that has left since is passed over.
	Incarnation Incarnation
	Join        PrepareJoin
}

// Owned is a partition with the token of its owner.
type Owned struct {
	Partition PartitionID
	Token     Token
}

// MaxOwned bounds how many partitions one [Own] lists.
const MaxOwned = 1000

func (Epoch) command() {}
func (Share) command() {}
func (Own) command()   {}

// Announcement is the present epoch.
type Announcement struct {
	Start, Generation uint64
	Leader            MemberID
	Since             Index // of the entry that announced it
	SinceMS           int64 // wall clock of its writer, for people
}

// Above reports whether an epoch of this number comes after the announced one.
func (a Announcement) Above(start, generation uint64) bool {
	return start > a.Start || start == a.Start && generation > a.Generation
}

// String is "start.generation".
func (a Announcement) String() string { return fmt.Sprintf("%d.%d", a.Start, a.Generation) }

// Epoch is the present epoch; false where none was ever announced.
func (v Value) Epoch() (Announcement, bool) { return v.epoch, v.epoch.Since != 0 }

// shared tells whether owners share what they have.
func (v *Value) shared() bool { return v.settings.Placement == PlacementShared }

// inGroup is why commands that let members in by the ring do nothing.
const inGroup = "the members of this cluster are those of its epoch"

func (d *draft) announce(c Epoch) string {
	switch {
	case d.settings.Placement == PlacementPlanned && d.Value.members.Len() == 0:
		d.setPlacement(PlacementShared)
	case !d.shared():
		return "the members of this cluster have no epochs"
	case !d.epoch.Above(c.Start, c.Generation):
		return "the epoch " + d.epoch.String() + " is not below it"
	}
	d.digest -= d.epochHash()
	d.epoch = Announcement{Start: c.Start, Generation: c.Generation, Leader: c.Leader, Since: d.at, SinceMS: d.atMS}
	d.digest += d.epochHash()
	d.loseOthers(c.Members)
	for _, m := range c.Members {
		d.welcome(m)
	}
	d.membersChanged()
	return ""
}

// loseOthers removes the members that an epoch does not name. Those that announced a restart are waited for.
func (d *draft) loseOthers(named []EpochMember) {
	var lost []Member
	d.Value.members.Each(func(id MemberID, m memberRecord) bool {
		i, ok := findMember(named, id)
		if m.State != MemberHeld && (!ok || named[i].Join.Heartbeat != m.Heartbeat) {
			lost = append(lost, m.Member)
		}
		return true
	})
	for _, m := range lost {
		d.release(m.ID, end{}, string(m.ID)+" is not in the epoch "+d.epoch.String())
		d.removeMember(m.ID)
	}
}

func findMember(sorted []EpochMember, id MemberID) (int, bool) {
	return slices.BinarySearchFunc(sorted, id, func(m EpochMember, id MemberID) int { return cmp.Compare(m.Join.Member, id) })
}

// welcome joins a member that is new in an epoch.
func (d *draft) welcome(m EpochMember) {
	c := m.Join
	if old, ok := d.Value.members.Get(c.Member); m.Incarnation != 0 || ok && old.Heartbeat == c.Heartbeat {
		return // it is there, or has left since
	}
	d.join(Member{
		ID: c.Member, Incarnation: d.at, Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity,
		Labels: c.Labels, Heartbeat: c.Heartbeat, Address: c.Address, Version: c.Version, SinceMS: d.atMS,
	})
}

func (d *draft) share(c Share) string {
	p, ok := d.edit(c.Partition)
	switch {
	case !d.shared():
		return "the owners of this cluster do not share"
	case !ok:
		return "no such partition"
	}
	if why := p.owned(c.Token); why != "" {
		return why
	}
	switch {
	case p.State != PartitionGranted:
		return "it is " + p.State.String()
	case p.class == nil:
		return "it has a place of its own"
	case d.derived.moving >= d.Settings().MoveBudget:
		return "enough is in hand-over"
	case d.keeps(p): // the owner was draining, or might not run it, when it wrote the share
		return "void: " + string(p.Owner) + " keeps it"
	}
	if why := d.shareVoid(p, c.To); why != "" {
		return why
	}
	d.handOver(p, c.To, d.shareCause(p, c.To))
	return ""
}

// keeps reports whether a partition stays with its owner, however uneven the load is.
func (d *draft) keeps(p *partitionRecord) bool {
	owner, ok := d.Value.members.Get(p.Owner)
	if !ok {
		return false
	}
	m := (&view{v: &d.Value}).scheduleMember(&owner.Member)
	return fixed(p.class, &m)
}

// shareVoid tells why a member cannot take a partition, "" if it can.
func (d *draft) shareVoid(p *partitionRecord, to MemberID) string {
	if to == "" {
		return ""
	}
	m, ok := d.Value.members.Get(to)
	l, _ := d.derived.loads.Get(to)
	switch {
	case !ok || m.State != MemberJoined:
		return "void: " + string(to) + " is not in the epoch " + d.epoch.String()
	case to == p.Owner:
		return "void: it has it"
	case m.Draining:
		return "void: " + string(to) + " is draining"
	case m.Capacity > 0 && l.count >= m.Capacity && !p.ID.Reserved():
		return "void: " + string(to) + " has no room"
	}
	if why := d.claimRefused(p, &m.Member); why != "" {
		return "void: " + why
	}
	return ""
}

func (d *draft) shareCause(p *partitionRecord, to MemberID) string {
	if to == "" {
		return "its owner may not run it"
	}
	if owner, _ := d.Value.members.Get(p.Owner); owner.Draining {
		return string(p.Owner) + " is draining"
	}
	return "shared by " + string(p.Owner)
}

// tell looks whether what a member says of itself is so.
func (d *draft) tell(c Own) string {
	m, ok := d.Value.members.Get(c.Member)
	switch {
	case !d.shared():
		return "the owners of this cluster do not share"
	case !ok || m.Incarnation != c.Incarnation:
		return "no such member"
	}
	for _, o := range c.Partitions {
		if p, ok := d.partitions.Get(o.Partition); !ok || p.Owner != c.Member || p.Token != o.Token {
			return "it does not own " + string(o.Partition) + " under this token"
		}
	}
	return ""
}

// poolRefused tells why a job cannot run here, "" if it can.
func (d *draft) poolRefused(s *JobSpec) string {
	if !d.shared() {
		return ""
	}
	for i := range s.Tasks {
		if s.Tasks[i].Spread == SpreadPool {
			return PoolRefused
		}
	}
	return ""
}

// PoolRefused is why a job with a pool of slots is refused where owners share.
const PoolRefused = "the protocol sync has no pools of slots: use --protocol replica on this store"

// epochHash is zero for a cluster without an epoch.
func (d *draft) epochHash() Hash {
	if d.epoch.Since == 0 {
		return 0
	}
	d.buf = appendAnnouncement(d.buf[:0], d.epoch)
	return hashBytes(kindEpoch, &d.buf)
}
