package node

import (
	"context"

	"github.com/rota-run/rota/cluster"
)

// drain moves the member's partitions away, as far as others can take them, within the timeout.
func (n *Node) drain(gone, hurry <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), n.c.DrainTimeout)
	defer cancel()
	if len(n.takers()) == 0 {
		return
	}
	if _, err := n.member.Propose(ctx, cluster.DrainMember{Member: n.c.Member, On: true}); err != nil {
		n.c.Logger.Warn("drain", "err", err)
		return
	}
	for {
		wait := n.changed.wait()
		if n.drained() {
			return
		}
		select {
		case <-wait:
		case <-gone:
			return
		case <-hurry:
			return
		case <-ctx.Done():
			n.c.Logger.Warn("drain: leaving with partitions that nobody took", "timeout", n.c.DrainTimeout)
			return
		}
	}
}

// drained tells whether nothing is left here that another member could take. What only this member may run must not keep it.
func (n *Node) drained() bool {
	v, takers := n.member.Value(), n.takers()
	for p := range v.OwnedBy(n.c.Member) {
		if p.Owner == n.c.Member && (p.State != cluster.PartitionGranted || movable(v, p.ID, takers)) {
			return false
		}
	}
	return true
}

// takers are the other members that take new partitions.
func (n *Node) takers() []cluster.Member {
	v := n.member.Value()
	var out []cluster.Member
	for m := range v.Members() {
		if m.ID == n.c.Member || m.State != cluster.MemberJoined || m.Draining {
			continue
		}
		if m.Capacity == 0 || owned(v, m.ID) < m.Capacity {
			out = append(out, m)
		}
	}
	return out
}

func owned(v cluster.Value, m cluster.MemberID) int64 {
	var count int64
	for p := range v.OwnedBy(m) {
		if p.Slot == 0 && !p.ID.Reserved() { // neither slots nor Rota's own tasks count against the capacity
			count++
		}
	}
	return count
}

func movable(v cluster.Value, id cluster.PartitionID, takers []cluster.Member) bool {
	jobID, name, _ := id.Split()
	job, _ := v.Job(jobID)
	task, ok := job.Task(name)
	if !ok || task.Spread == cluster.SpreadEvery {
		return false
	}
	for _, m := range takers {
		if task.Allows(m) {
			return true
		}
	}
	return false
}
