package cluster

import (
	"slices"

	"github.com/rota-run/rota/internal/ordered"
)

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

func (d *draft) started(c Started) string {
	p, ok := d.edit(c.Partition)
	switch {
	case !ok:
		return "no such partition"
	case p.State == PartitionGranted && p.Token == c.Token && p.Deaths > 0:
		d.calm(p)
		return ""
	case p.State != PartitionAdopting || p.NextToken != c.Token:
		return "it is not being adopted under this token"
	}
	d.adopted(p, p.Cause)
	return ""
}

func (d *draft) stopped(c Stopped) string {
	p, ok := d.edit(c.Partition)
	switch {
	case !ok:
		return "no such partition"
	case p.State == PartitionAdopting && p.NextToken == c.Token:
		d.targetGone(p) // it cannot run it: the owner keeps it
	case p.State != PartitionReleasing || p.Token != c.Token:
		return "it is not being released under this token"
	case p.Dropped:
		d.removePartition(p.ID)
		d.completeRest(p.job())
	case p.Next != "" && !d.claimed():
		d.grant(p, p.Next, p.Cause)
	default:
		d.free(p, p.Cause)
	}
	return ""
}

// owned returns why a command of an owner does not count, "" if it does.
func (p *partitionRecord) owned(token Token) string {
	switch {
	case p.Owner == "":
		return "it has no owner"
	case p.Token != token:
		return "the token is not its owner's"
	case p.State == PartitionHeld:
		return "it is held"
	case p.Offered:
		return "its offer has not been accepted"
	case p.former():
		return "it was resubmitted: its owner runs the former one, and only has to stop"
	}
	return ""
}

func (d *draft) finishPartition(c FinishPartition) string {
	p, ok := d.edit(c.Partition)
	if !ok {
		return "no such partition"
	}
	if why := p.owned(c.Token); why != "" {
		return why
	}
	if c.Outcome == OutcomeDone && p.Slot != 0 && !d.alone {
		d.finishTask(p)
		return ""
	}
	if c.Outcome == OutcomeDone {
		d.finish(p)
		return ""
	}
	if c.Attempt != p.Attempts {
		return "it names another attempt"
	}
	d.fail(p, c)
	return ""
}

func (d *draft) fail(p *partitionRecord, c FinishPartition) {
	p.Attempts++
	if c.Fresh {
		p.Attempts = 1
	}
	p.Message = c.Message
	limit := d.maxAttempts(p.ID)
	if limit == 0 || p.Attempts < limit || p.Dropped {
		d.setPartition(p)
		return
	}
	if p.Slot != 0 && !d.alone {
		d.failJob(p)
		return
	}
	p.From, p.Owner, p.Next, p.NextToken = p.Owner, "", "", 0
	p.State, p.Cause = PartitionParked, "failed too often"
	d.setPartition(p)
	d.replan = true
}

func (d *draft) finish(p *partitionRecord) {
	if p.Dropped {
		d.removePartition(p.ID)
		return
	}
	p.From, p.Owner, p.Next, p.NextToken = p.Owner, "", "", 0
	p.State, p.Attempts, p.Deaths, p.Message, p.Cause = PartitionFinished, 0, 0, "", ""
	d.setPartition(p)
	d.replan = true
	d.unblockChildren(p.ID)
	d.completeJob(p.job())
}

// unblockChildren frees the children whose last parent this was; it has finished or was removed.
func (d *draft) unblockChildren(parent PartitionID) {
	var children []PartitionID
	ordered.Below(&d.derived.children, string(parent)+"\x00", func(_ string, id PartitionID) bool {
		children = append(children, id)
		return true
	})
	for _, id := range children {
		if p, _ := d.edit(id); d.startable(p) {
			d.free(p, "its parents are finished")
		}
	}
}

// parentsFinished reports whether nothing holds the partition up. A parent that was removed is wanted no more, and holds nobody up.
func (d *draft) parentsFinished(p *partitionRecord) bool {
	job, task, _ := p.ID.Split()
	for _, key := range p.Parents {
		parent, ok := d.partitions.Get(NewPartitionID(job, task, key))
		if ok && parent.State != PartitionFinished {
			return false
		}
	}
	return true
}

// splitPartition adds children. What it refuses it refuses whole.
func (d *draft) splitPartition(c SplitPartition) string {
	p, ok := d.partitions.Get(c.Partition)
	if !ok {
		return "no such partition"
	}
	if why := p.owned(c.Token); why != "" {
		return why
	}
	job, task, key := c.Partition.Split()
	j, ok := d.jobs.Get(job)
	if !ok || j.State != JobRunning || p.Dropped {
		return "its job has ended"
	}
	t, ok := j.Task(task)
	if !ok || t.Spread != SpreadPartitioned {
		return "its task is not partitioned"
	}
	for _, ch := range c.Children {
		if why := d.checkChild(job, task, key, ch); why != "" {
			return why
		}
	}
	for _, ch := range c.Children {
		d.addChild(j, task, ch)
	}
	return ""
}

func (d *draft) checkChild(job JobID, task, reporter string, ch Child) string {
	if !slices.Contains(ch.Parents, reporter) {
		return "the child " + ch.Key + " does not name who reports it as a parent"
	}
	for _, key := range ch.Parents {
		if key == ch.Key {
			return "the child " + ch.Key + " is its own parent"
		}
		if _, ok := d.partitions.Get(NewPartitionID(job, task, key)); !ok {
			return "the child " + ch.Key + " names the unknown parent " + key
		}
	}
	if old, ok := d.partitions.Get(NewPartitionID(job, task, ch.Key)); ok && !old.Dropped && !slices.Equal(old.Parents, ch.Parents) {
		return "the child " + ch.Key + " exists with other parents"
	}
	return ""
}

func (d *draft) addChild(j *jobRecord, task string, ch Child) {
	id := NewPartitionID(j.ID, task, ch.Key)
	if old, ok := d.partitions.Get(id); ok && !old.Dropped {
		return // another parent reported it
	}
	d.addPartition(j, task, ch.Key, ch.Parents)
}

func (d *draft) unparkPartition(c UnparkPartition) string {
	p, ok := d.edit(c.Partition)
	if !ok || p.State != PartitionParked {
		return "it is not parked"
	}
	p.Attempts, p.Deaths = 0, 0
	d.retry(p, "unparked")
	return ""
}

// retry lets a parked partition run again. One of spread every has only one place to go.
func (d *draft) retry(p *partitionRecord, cause string) {
	if p.class == nil {
		_, _, key := p.ID.Split()
		d.grant(p, MemberID(key), cause)
		return
	}
	d.free(p, cause)
}

// maxAttempts is the limit of the partition's task; 0 for none.
func (d *draft) maxAttempts(id PartitionID) int64 {
	job, task, _ := id.Split()
	j, ok := d.jobs.Get(job)
	if !ok {
		return 0
	}
	t, ok := j.Task(task)
	if !ok {
		return 0
	}
	return t.MaxAttempts
}
