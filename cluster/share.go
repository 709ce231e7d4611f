package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// Share gives a partition to a member of the present epoch; To is "" where the owner may not run it and nobody else
// may. If it is refused, the owner keeps the partition.
type Share struct {
	Partition PartitionID
	Token     Token
	To        MemberID
}

func (Share) tag() byte { return 57 }

func (c Share) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	codeText(x, &c.To)
	return made(x, c)
}

// String is the command on one line.
func (c Share) String() string {
	to := "nobody"
	if c.To != "" {
		to = string(c.To)
	}
	return fmt.Sprintf("share %s token=%d to %s", c.Partition, c.Token, to)
}

func (c Share) apply(d *draft) string {
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
	owner, ok := ordered.Get(&d.Value.members, p.Owner)
	if !ok {
		return false
	}
	m := (&view{v: &d.Value}).scheduleMember(&owner.Member)
	return d.fixed(p.class, &m)
}

// shareVoid tells why a member cannot take a partition, "" if it can.
func (d *draft) shareVoid(p *partitionRecord, to MemberID) string {
	if to == "" {
		return ""
	}
	m, ok := ordered.Get(&d.Value.members, to)
	l, _ := ordered.Get(&d.derived.loads, to)
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
	if owner, _ := ordered.Get(&d.Value.members, p.Owner); owner.Draining {
		return string(p.Owner) + " is draining"
	}
	return "shared by " + string(p.Owner)
}

// Shares are the partitions that a member should give away now, and to whom: its part of the plan that all members make
// of this value. Sorted as the plan is. It is empty unless Settings.Placement is shared.
func (v Value) Shares(self MemberID) (out []Share) {
	budget := v.Settings().MoveBudget - v.derived.moving
	if !v.shared() || budget <= 0 {
		return nil
	}
	d := &draft{Value: v}
	for kind := range kinds {
		if kind != kindTasks && !d.present(kind) {
			continue
		}
		view := newView(&d.Value, kind)
		for _, mv := range schedule.Place(view, budget).Moves {
			if mv.From < 0 || view.members[mv.From].ID != string(self) {
				continue
			}
			p, ok := ordered.Get(&v.partitions, PartitionID(mv.Item))
			if !ok || p.State != PartitionGranted {
				continue
			}
			s := Share{Partition: p.ID, Token: p.Token}
			if mv.To >= 0 {
				s.To = MemberID(view.members[mv.To].ID)
			}
			out = append(out, s)
		}
	}
	return out
}

// MaxOwned bounds how many partitions one [Own] lists.
const MaxOwned = 1000

// Owned is a partition with the token of its owner.
type Owned struct {
	Partition PartitionID
	Token     Token
}

func codeOwned(x *coder, o *Owned) {
	codeText(x, &o.Partition)
	codeUint(x, &o.Token)
}

// Own is what a member says of itself, for those who read the records: all that it owns, after an epoch, or what came
// to it since. It changes nothing, and is refused where the value has something else.
type Own struct {
	Member      MemberID
	Incarnation Incarnation
	Full        bool  // since the epoch began
	Count       int64 // how many it owns
	Partitions  []Owned
}

func (Own) tag() byte { return 58 }

func (c Own) code(x *coder) Command {
	codeText(x, &c.Member)
	codeUint(x, &c.Incarnation)
	codeBool(x, &c.Full)
	codeInt(x, &c.Count)
	codeList(x, &c.Partitions, codeOwned)
	return made(x, c)
}

func (c Own) check() error {
	err := at("member", CheckName(string(c.Member)))
	if len(c.Partitions) > MaxOwned {
		err = errors.Join(err, fmt.Errorf("partitions: %d, at most %d are listed", len(c.Partitions), MaxOwned))
	}
	return errors.Join(err, at("count", notNegative(c.Count)))
}

// String is the command on one line.
func (c Own) String() string {
	what := "picks up"
	if c.Full {
		what = "owns"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "own %s@%d %s", c.Member, c.Incarnation, what)
	for _, o := range c.Partitions {
		fmt.Fprintf(&b, " %s/%d", o.Partition, o.Token)
	}
	return fmt.Sprintf("%s, %d in all", b.String(), c.Count)
}

// tell looks whether what a member says of itself is so.
func (c Own) apply(d *draft) string {
	m, ok := ordered.Get(&d.Value.members, c.Member)
	switch {
	case !d.shared():
		return "the owners of this cluster do not share"
	case !ok || m.Incarnation != c.Incarnation:
		return "no such member"
	}
	for _, o := range c.Partitions {
		if p, ok := ordered.Get(&d.partitions, o.Partition); !ok || p.Owner != c.Member || p.Token != o.Token {
			return "it does not own " + string(o.Partition) + " under this token"
		}
	}
	return ""
}
