package cluster

type (
	// Lead starts a term: from here on only the entries of its writer count, until another member leads under a higher term. It is the first command of
	// its entry; if it is refused, the whole entry is refused.
	Lead struct {
		Member  MemberID
		Term    uint64
		OfferMS int64 // validity of an offer of this term
	}
	// AcceptOffer is written by the leader when it has read that a member accepts its offer. Before that, the member does not run the partition.
	AcceptOffer struct {
		Partition PartitionID
		Token     Token
	}
	// RevokeOffer withdraws an offer that was not accepted in time; its member gets no further offers until it is confirmed, under another
	// incarnation. Declined means that the member has refused it, because it is about to leave: then it is draining.
	RevokeOffer struct {
		Partition PartitionID
		Token     Token
		Declined  bool
	}
	// TakeRequest marks the next Count commands of its entry as request number Seq of Writer. If that request was applied before, they do nothing.
	TakeRequest struct {
		Writer WriterID
		Seq    uint64
		Count  uint32
	}
)

func (Lead) command()        {}
func (AcceptOffer) command() {}
func (RevokeOffer) command() {}
func (TakeRequest) command() {}

// RequestTaken is the reason why the commands of a repeated request do nothing.
const RequestTaken = "its request was taken before"

func (d *draft) acceptOffer(c AcceptOffer) string {
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

func (d *draft) revokeOffer(c RevokeOffer) string {
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
	m, ok := d.Value.members.Get(id)
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

// takeRequest notes a request, or refuses it. The draft refuses its commands then.
func (d *draft) takeRequest(c TakeRequest) string {
	if w, ok := d.writers.Get(c.Writer); ok && c.Seq <= w.seq {
		d.taken = int(c.Count)
		return RequestTaken
	}
	d.noteWriter(c.Writer, c.Seq)
	return ""
}
