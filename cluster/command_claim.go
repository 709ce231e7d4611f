package cluster

import (
	"fmt"
	"slices"
)

// Claim is written by a member that takes a free partition, if Settings.Placement is claimed. Token is the partition's last one; the index
// of the claim becomes the new one. Only the member to which a partition is offered (of spread every or pool) may claim it.
type Claim struct {
	Partition   PartitionID
	Token       Token
	Member      MemberID
	Incarnation Incarnation
}

func (Claim) tag() byte { return 48 }

func (c Claim) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	codeText(x, &c.Member)
	codeUint(x, &c.Incarnation)
	return made(x, c)
}

// String returns the command on one line.
func (c Claim) String() string {
	return fmt.Sprintf("claim %s token=%d by %s@%d", c.Partition, c.Token, c.Member, c.Incarnation)
}

// claimed reports whether members take what is free.
func (v *Value) claimed() bool { return v.settings.Placement == PlacementClaimed }

func (c Claim) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	m, joined := d.Value.members.Get(c.Member)
	switch {
	case !d.claimed():
		return "the members of this cluster do not claim"
	case !ok:
		return "no such partition"
	case p.Token != c.Token || d.at <= p.Token:
		return "it was claimed since"
	case !joined || m.Incarnation != c.Incarnation || m.State != MemberJoined:
		return "who claims is not a joined member"
	case p.Offered && p.Owner != c.Member:
		return "it is for " + string(p.Owner)
	case !p.Offered && p.State != PartitionWaiting:
		return "it is " + p.State.String()
	}
	if why := d.claimRefused(p, &m.Member); why != "" {
		return why
	}
	d.grant(p, c.Member, p.Cause)
	p, _ = d.edit(c.Partition)
	p.Offered, p.Token = false, d.at
	d.setPartition(p)
	return ""
}

// claimRefused returns why the rules of the task keep a member from it, "" if they do not.
func (d *draft) claimRefused(p *partitionRecord, m *Member) string {
	job, task, _ := p.ID.Split()
	j, ok := d.jobs.Get(job)
	if !ok || j.State != JobRunning {
		return "its job has ended"
	}
	if j.Paused() {
		return "its job is paused"
	}
	t, ok := j.Task(task)
	switch {
	case !ok:
		return "its job has no such task"
	case m.Draining:
		return "who claims is draining"
	case !t.allowed(m):
		return "the rules of the task do not allow it"
	}
	return ""
}

// dismiss takes a partition away from its claimant. Its record stays until the claimant reports that it stopped; a partition that is offered or free has no
// claimant and is removed at once.
func (d *draft) dismiss(p *partitionRecord, cause string) {
	if p.Offered || p.State != PartitionGranted && p.State != PartitionReleasing {
		d.removePartition(p.ID)
		return
	}
	p.State, p.Next, p.NextToken, p.Dropped, p.class, p.Cause = PartitionReleasing, "", 0, true, nil, cause
	d.setPartition(p)
}

// sameShares reports whether slots that were claimed one by one are all that were given out together.
func sameShares(held []*partitionRecord) bool {
	seen := make([]int64, 0, len(held))
	for _, p := range held {
		if p.Count != int64(len(held)) || slices.Contains(seen, p.Index) {
			return false
		}
		seen = append(seen, p.Index)
	}
	return true
}
