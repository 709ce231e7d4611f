package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
)

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

func codeLeadership(x *coder, l *Leadership) {
	codeText(x, &l.Member)
	codeText(x, &l.Writer)
	codeUint(x, &l.Term)
	codeUint(x, &l.Since)
	codeInt(x, &l.SinceMS)
	codeInt(x, &l.OfferMS)
	x.must(l.Term != 0, "a leader without a term")
}

// leaderHash is zero for a cluster without a leader.
func (d *draft) leaderHash() Hash {
	if d.leader.Term == 0 {
		return 0
	}
	codeLeadership(d.encode(), &d.leader)
	return d.hash(kindLeader)
}

// MaxStandBys is the number of members, besides the leader, that hold the whole value and are ready to lead.
const MaxStandBys = 2

// StandBys returns the members that follow the leader, the first one first: those that joined first.
func (v Value) StandBys() (out []MemberID) {
	l, ok := v.Leader()
	if !ok {
		return nil
	}
	var all []Member
	ordered.Each(&v.members, func(_ MemberID, m memberRecord) bool {
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

// Lead starts a term: from here on only the entries of its writer count, until another member leads under a higher
// term. It is the first command of its entry; if it is refused, the whole entry is refused.
type Lead struct {
	Member  MemberID
	Term    uint64
	OfferMS int64 // validity of an offer of this term
}

func (Lead) tag() byte { return 40 }

func (c Lead) code(x *coder) Command {
	codeText(x, &c.Member)
	codeUint(x, &c.Term)
	codeInt(x, &c.OfferMS)
	return made(x, c)
}

func (c Lead) check() error {
	return errors.Join(at("member", CheckName(string(c.Member))), at("offer_ms", notNegative(c.OfferMS)))
}

// String returns the command on one line.
func (c Lead) String() string { return fmt.Sprintf("lead %s term=%d", c.Member, c.Term) }

// notLed tells why an entry does not count for who wrote it, "" if it does: where somebody leads, only that writer's
// entries count, and those by which another one begins to lead under a higher term.
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
	case v.leader.Term == 0 && (v.settings.Placement != PlacementPlanned || ordered.Len(&v.members) > 0):
		return "the members of this cluster have no leader"
	case c.Term <= v.leader.Term:
		return "the term is not above the present one"
	}
	return ""
}

// lead begins a term. What refuses it has refused its entry, if it is the first command.
func (c Lead) apply(d *draft) string {
	if why := d.leadRefused(c); why != "" {
		return why
	}
	d.digest -= d.leaderHash()
	d.leader = Leadership{Member: c.Member, Writer: d.writer, Term: c.Term, Since: d.at, SinceMS: d.atMS,
		OfferMS: c.OfferMS}
	d.digest += d.leaderHash()
	if d.settings.Placement == PlacementPlanned {
		d.setPlacement(PlacementOffered)
	}
	return ""
}

// AcceptOffer is written by the leader when it has read that a member accepts its offer. Before that, the member does
// not run the partition.
type AcceptOffer struct {
	Partition PartitionID
	Token     Token
}

func (AcceptOffer) tag() byte { return 41 }

func (c AcceptOffer) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	return made(x, c)
}

// String returns the command on one line.
func (c AcceptOffer) String() string {
	return fmt.Sprintf("accept-offer %s token=%d", c.Partition, c.Token)
}

func (c AcceptOffer) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	switch {
	case !ok:
		return "no such partition"
	case !p.Offered || p.Token != c.Token:
		return "it is not offered under this token"
	}
	p.Offered = false
	d.setPartition(p)
	return ""
}

// RevokeOffer withdraws an offer that was not accepted in time; its member gets no further offers until it is
// confirmed, under another incarnation. Declined means that the member has refused it, because it is about to leave:
// then it is draining.
type RevokeOffer struct {
	Partition PartitionID
	Token     Token
	Declined  bool
}

func (RevokeOffer) tag() byte { return 42 }

func (c RevokeOffer) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	codeBool(x, &c.Declined)
	return made(x, c)
}

// String returns the command on one line.
func (c RevokeOffer) String() string {
	s := fmt.Sprintf("revoke-offer %s token=%d", c.Partition, c.Token)
	if c.Declined {
		s += " declined"
	}
	return s
}

func (c RevokeOffer) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	switch {
	case !ok:
		return "no such partition"
	case !p.Offered || p.Token != c.Token:
		return "it is not offered under this token"
	}
	cause := string(p.Owner) + " did not answer the offer in time"
	if c.Declined {
		cause = string(p.Owner) + " declined it"
	}
	owner := p.Owner
	if p.class == nil {
		d.removePartition(p.ID) // it comes back with its member, or in another slot
		d.members, d.allocate = true, true
	} else {
		d.free(p, cause)
	}
	d.sideline(owner, c.Declined)
	return ""
}

// sideline gives a member nothing more for now.
func (d *draft) sideline(id MemberID, draining bool) {
	m, ok := ordered.Get(&d.Value.members, id)
	if !ok {
		return
	}
	if draining {
		m.Draining = true
	} else {
		m.Revoked = true
	}
	d.setMember(m.Member)
	if draining {
		d.vacateAll(id) // as every member that drains
	}
	d.membersChanged()
}

// TakeRequest marks the next Count commands of its entry as request number Seq of Writer. If that request was applied
// before, they do nothing.
type TakeRequest struct {
	Writer WriterID
	Seq    uint64
	Count  uint32
}

func (TakeRequest) tag() byte { return 43 }

func (c TakeRequest) code(x *coder) Command {
	n := uint64(c.Count)
	codeText(x, &c.Writer)
	codeUint(x, &c.Seq)
	codeUint(x, &n)
	x.must(n <= 1<<32-1, "a number above 32 bits")
	c.Count = uint32(n)
	return made(x, c)
}

// String returns the command on one line.
func (c TakeRequest) String() string { return fmt.Sprintf("take-request %s/%d", c.Writer, c.Seq) }

// RequestTaken is the reason why the commands of a repeated request do nothing.
const RequestTaken = "its request was taken before"

// takeRequest notes a request, or refuses it. The draft refuses its commands then.
func (c TakeRequest) apply(d *draft) string {
	if w, ok := ordered.Get(&d.writers, c.Writer); ok && c.Seq <= w.seq {
		d.taken = int(c.Count)
		return RequestTaken
	}
	d.noteWriter(c.Writer, c.Seq)
	return ""
}
