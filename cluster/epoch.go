package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
)

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

func codeAnnouncement(x *coder, a *Announcement) {
	codeUint(x, &a.Start)
	codeUint(x, &a.Generation)
	codeText(x, &a.Leader)
	codeUint(x, &a.Since)
	codeInt(x, &a.SinceMS)
}

// Epoch is the present epoch; false where none was ever announced.
func (v Value) Epoch() (Announcement, bool) { return v.epoch, v.epoch.Since != 0 }

// epochHash is zero for a cluster without an epoch.
func (d *draft) epochHash() Hash {
	if d.epoch.Since == 0 {
		return 0
	}
	codeAnnouncement(d.encode(), &d.epoch)
	return d.hash(kindEpoch)
}

// shared tells whether owners share what they have.
func (v *Value) shared() bool { return v.settings.Placement == PlacementShared }

// Epoch is what the leader of a group announces about its members, where Settings.Placement is shared. At its index
// those that it does not name are removed, those that are new are joined, and what has no owner then is placed. It
// counts if it is above the present one: first by Start, then by Generation.
type Epoch struct {
	Start      uint64 // how often the group began again, with small generations
	Generation uint64
	Leader     MemberID
	Members    []EpochMember // sorted by name
}

// EpochMember is one member of an epoch. Its Heartbeat tells starts apart.
type EpochMember struct {
	// Incarnation is that of a member which the leader knows, and then Join has the name and the heartbeat alone. One
	// that has left since is passed over.
	Incarnation Incarnation
	Join        PrepareJoin
}

func codeEpochMember(x *coder, m *EpochMember) {
	codeUint(x, &m.Incarnation)
	codePrepareJoin(x, &m.Join)
}

func (Epoch) tag() byte { return 56 }

func (c Epoch) code(x *coder) Command {
	codeUint(x, &c.Start)
	codeUint(x, &c.Generation)
	codeText(x, &c.Leader)
	codeList(x, &c.Members, codeEpochMember)
	return made(x, c)
}

func (c Epoch) check() error {
	err := at("leader", CheckName(string(c.Leader)))
	if c.Start == 0 || c.Generation == 0 {
		err = errors.Join(err, errors.New("an epoch without a number"))
	}
	for i := range c.Members {
		m := &c.Members[i]
		if i > 0 && c.Members[i-1].Join.Member >= m.Join.Member {
			return errors.Join(err, errors.New("members: they are not sorted"))
		}
		err = errors.Join(err, at(fmt.Sprintf("members[%d]", i), m.Join.check()))
	}
	if _, ok := findMember(c.Members, c.Leader); !ok {
		err = errors.Join(err, errors.New("leader: it is not a member"))
	}
	return err
}

// String is the command on one line.
func (c Epoch) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d.%d by %s:", c.Start, c.Generation, c.Leader)
	for _, m := range c.Members {
		fmt.Fprintf(&b, " %s", m.Join.Member)
	}
	return b.String()
}

// inGroup is why commands that let members in by the ring do nothing.
const inGroup = "the members of this cluster are those of its epoch"

func (c Epoch) apply(d *draft) string {
	switch {
	case d.settings.Placement == PlacementPlanned && ordered.Len(&d.Value.members) == 0:
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
	ordered.Each(&d.Value.members, func(id MemberID, m memberRecord) bool {
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
	return slices.BinarySearchFunc(sorted, id,
		func(m EpochMember, id MemberID) int { return cmp.Compare(m.Join.Member, id) })
}

// welcome joins a member that is new in an epoch.
func (d *draft) welcome(m EpochMember) {
	c := m.Join
	if old, ok := ordered.Get(&d.Value.members, c.Member); m.Incarnation != 0 || ok && old.Heartbeat == c.Heartbeat {
		return // it is there, or has left since
	}
	d.join(Member{
		ID: c.Member, Incarnation: d.at, Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity,
		Labels: c.Labels, Heartbeat: c.Heartbeat, Address: c.Address, Version: c.Version, SinceMS: d.atMS,
	})
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
