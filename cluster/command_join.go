package cluster

import (
	"errors"
	"fmt"

	"github.com/rota-run/rota/internal/ordered"
)

// PrepareJoin is written by a member that wants to join. Incarnation becomes the index of its entry. A present member
// with the same ID is removed first (a restart), if it is the one that the joiner found dead. If no member is joined,
// it joins at once.
type PrepareJoin struct {
	Member    MemberID
	Replaces  Incarnation // the start that it found dead under the same ID; 0 if none. Refused if another is present.
	Slots     int64
	Weight    int64 // share of the load; 0 means 100
	Capacity  int64 // most partitions that it takes; 0 means no limit
	Labels    []Label
	Heartbeat string `json:"pulse"` // key of the heartbeat document of this start; "pulse" in records that exist
	Address   string // address of its API; for people, not for decisions
	Version   string // of its binary; for people, not for decisions
	// Again means that this process was a member before: who reported its death was wrong, and no task of it is to
	// blame.
	Again bool
}

func (PrepareJoin) tag() byte { return 1 }

func codePrepareJoin(x *coder, c *PrepareJoin) {
	codeText(x, &c.Member)
	codeUint(x, &c.Replaces)
	codeInt(x, &c.Slots)
	codeInt(x, &c.Weight)
	codeInt(x, &c.Capacity)
	codeList(x, &c.Labels, codeLabel)
	codeText(x, &c.Heartbeat)
	codeText(x, &c.Address)
	codeText(x, &c.Version)
	codeBool(x, &c.Again)
}

func (c PrepareJoin) code(x *coder) Command {
	codePrepareJoin(x, &c)
	return made(x, c)
}

func (c PrepareJoin) check() error {
	return errors.Join(at("member", CheckName(string(c.Member))), at("slots", checkSlots(c.Slots)),
		at("weight", notNegative(c.Weight)), at("capacity", notNegative(c.Capacity)),
		at("labels", checkLabels(c.Labels)),
		at("pulse", checkHeartbeat(c.Heartbeat)), at("address", checkText(c.Address)),
		at("version", checkText(c.Version)))
}

func checkSlots(n int64) error {
	if n > MaxSlots {
		return fmt.Errorf("%d is above %d", n, MaxSlots)
	}
	return notNegative(n)
}

// String returns the command on one line, as rota log list shows it.
func (c PrepareJoin) String() string {
	s := fmt.Sprintf("prepare-join %s", c.Member)
	if c.Replaces != 0 {
		s += fmt.Sprintf(" replaces=%d", c.Replaces)
	}
	for _, l := range c.Labels {
		s += " " + l.Key + "=" + l.Value
	}
	return s
}

func (c PrepareJoin) apply(d *draft) string {
	old, had := ordered.Get(&d.Value.members, c.Member)
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
		m, _ := ordered.Get(&d.Value.members, c.Member)
		d.join(m.Member)
	}
	d.membersChanged()
	return ""
}

// AcceptJoin is written by the present predecessor in the ring, once it watches the joiner's heartbeat and has observed
// it. By must be that predecessor, joined, with incarnation ByIncarnation.
type AcceptJoin struct {
	Member        MemberID
	Incarnation   Incarnation
	By            MemberID
	ByIncarnation Incarnation
}

func (AcceptJoin) tag() byte { return 2 }

func (c AcceptJoin) code(x *coder) Command {
	codeText(x, &c.Member)
	codeUint(x, &c.Incarnation)
	codeText(x, &c.By)
	codeUint(x, &c.ByIncarnation)
	return made(x, c)
}

func (c AcceptJoin) check() error {
	return errors.Join(at("member", CheckName(string(c.Member))), at("by", CheckName(string(c.By))))
}

// String returns the command on one line.
func (c AcceptJoin) String() string {
	return fmt.Sprintf("accept-join %s@%d by %s@%d", c.Member, c.Incarnation, c.By, c.ByIncarnation)
}

func (c AcceptJoin) apply(d *draft) string {
	m, ok := ordered.Get(&d.Value.members, c.Member)
	by, okBy := ordered.Get(&d.Value.members, c.By)
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

// AbortJoin removes a prepared attempt. The first of accept and abort in the log wins.
type AbortJoin struct {
	Member      MemberID
	Incarnation Incarnation
}

func (AbortJoin) tag() byte { return 3 }

func (c AbortJoin) code(x *coder) Command {
	codeText(x, &c.Member)
	codeUint(x, &c.Incarnation)
	return made(x, c)
}

func (c AbortJoin) check() error {
	return at("member", CheckName(string(c.Member)))
}

// String returns the command on one line.
func (c AbortJoin) String() string { return fmt.Sprintf("abort-join %s@%d", c.Member, c.Incarnation) }

func (c AbortJoin) apply(d *draft) string {
	m, ok := ordered.Get(&d.Value.members, c.Member)
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

// ConfirmMember is written by a member whose lease expired, or whose heartbeat was lost, and that was not removed: with
// a new heartbeat it stays, and keeps its grants. Incarnation is its present one; the index of this entry becomes the
// new one, so that late reports of the silence name an outdated incarnation.
type ConfirmMember struct {
	Member      MemberID
	Incarnation Incarnation
	Heartbeat   string `json:"pulse"`
}

func (ConfirmMember) tag() byte { return 16 }

func (c ConfirmMember) code(x *coder) Command {
	codeText(x, &c.Member)
	codeUint(x, &c.Incarnation)
	codeText(x, &c.Heartbeat)
	return made(x, c)
}

func (c ConfirmMember) check() error {
	return errors.Join(at("member", CheckName(string(c.Member))), at("pulse", checkHeartbeat(c.Heartbeat)))
}

// String returns the command on one line.
func (c ConfirmMember) String() string {
	return fmt.Sprintf("confirm-member %s@%d", c.Member, c.Incarnation)
}

func (c ConfirmMember) apply(d *draft) string {
	if d.shared() {
		return inGroup
	}
	m, ok := ordered.Get(&d.Value.members, c.Member)
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

// membersChanged asks for a new plan and keeps the rule that somebody is joined whenever somebody could be: when the
// last joined member goes, nobody else could accept the prepared ones, so the oldest of them is in.
func (d *draft) membersChanged() {
	d.replan, d.members = true, true
	if d.derived.joined > 0 {
		return
	}
	var oldest Member
	ordered.Each(&d.Value.members, func(_ MemberID, m memberRecord) bool {
		if m.State == MemberPrepared && (oldest.ID == "" || m.Incarnation < oldest.Incarnation) {
			oldest = m.Member
		}
		return true
	})
	if oldest.ID != "" {
		d.join(oldest)
	}
}
