package cluster

// grant makes the member the owner under a new token.
func (d *draft) grant(p *partitionRecord, to MemberID, cause string) {
	d.toOwner(p, to, cause)
	d.setPartition(p)
	d.replan = true
}

// grantFree gives a partition that waits, often since this draft has freed it, to a member; false if it is not there.
func (d *draft) grantFree(id PartitionID, to MemberID) bool {
	if old, p, ok := d.editInPlace(id); ok {
		d.toOwner(p, to, p.Cause)
		d.setAfter(old, p)
		d.replan = true
		return true
	}
	p, ok := d.edit(id)
	if ok {
		d.grant(p, to, p.Cause)
	}
	return ok
}

// toOwner changes a record alone.
func (d *draft) toOwner(p *partitionRecord, to MemberID, cause string) {
	if p.Owner != "" {
		p.From = p.Owner
	}
	p.State, p.Owner, p.Token, p.Next, p.NextToken = PartitionGranted, to, d.at, "", 0
	p.Cause, p.Offered = cause, d.settings.Placement == PlacementOffered || d.claimed()
}

// adopted ends a no-gap move: the new owner runs.
func (d *draft) adopted(p *partitionRecord, cause string) {
	p.From, p.Owner, p.Token = p.Owner, p.Next, p.NextToken
	p.State, p.Next, p.NextToken, p.Cause = PartitionGranted, "", 0, cause
	d.setPartition(p)
	d.replan = true
}

// free leaves the partition without an owner: it waits for one, or for its parents.
func (d *draft) free(p *partitionRecord, cause string) {
	if p.Owner != "" {
		p.From = p.Owner
	}
	p.State, p.Owner, p.Next, p.NextToken, p.Slot, p.Cause = PartitionWaiting, "", "", 0, 0, cause
	p.Offered = false
	if !d.startable(p) {
		p.State = PartitionBlocked
	}
	d.setPartition(p)
	d.replan = true
}

func (d *draft) handOver(p *partitionRecord, to MemberID, cause string) {
	h := d.handover(p.ID)
	switch {
	case p.Offered && to != "": // nobody runs it
		d.grant(p, to, cause)
	case p.Offered:
		d.free(p, cause)
	case to == "" || h == HandoverAtMostOne || d.claimed():
		p.State, p.Next, p.Cause = PartitionReleasing, to, cause
		d.setPartition(p)
	case h == HandoverNoGap && p.Token < d.at: // nobody runs yet what this entry has granted, and two owners never share a token
		p.State, p.Next, p.NextToken, p.Cause = PartitionAdopting, to, d.at, cause
		d.setPartition(p)
	default:
		d.grant(p, to, cause)
	}
}
