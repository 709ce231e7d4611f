package cluster

// maxDeaths is how many owners may die in a row while they run a partition. Then it is parked: it may be what kills them,
// and would go from member to member. Only a task that may be parked at all has its deaths counted: who kills all members
// of a cluster one after the other kills the owners of innocent tasks too.
const maxDeaths = 3

// poisoned is the cause of such a partition.
const poisoned = "its owners died"

// diedWith reports whether the death of its owner counts for a partition. For one of a pool it does not: that is a slot's share of a task, whose attempts
// count by other means.
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

// acquit forgives deaths, because a member that was reported dead is back as the same process: it is the store that fails. What was parked by its death
// runs again.
func (d *draft) acquit(m MemberID) {
	var ids []PartitionID
	d.Value.partitions.Each(func(id PartitionID, p *partitionRecord) bool {
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
