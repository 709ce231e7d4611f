package leader

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
)

// lighten makes the excerpt of the value that a member has which does not fold the log: all members, complete as of the roster's index, and what is
// assigned to this one.
func (s *step) lighten() {
	if s.Whole() || s.roster.Index == 0 {
		return
	}
	members := make([]cluster.Member, 0, len(s.roster.Members))
	for _, p := range s.roster.Members {
		members = append(members, p.member())
	}
	jobs, partitions := s.assignedRecords()
	light := cluster.Excerpt(s.roster.Index, s.leadership(), members, jobs, partitions)
	s.light = &light
	s.Emit(member.Applying{Value: light})
}

func (s *step) leadership() cluster.Leadership {
	return cluster.Leadership{Member: s.roster.Leader, Term: s.roster.Term, SinceMS: s.roster.SinceMS}
}

func (p peerDoc) member() cluster.Member {
	return cluster.Member{
		ID: p.Member, Incarnation: p.Incarnation, State: p.State, Draining: p.Draining, Revoked: p.Revoked, Slots: p.Slots, Weight: p.Weight,
		Capacity: p.Capacity, Labels: p.Labels, Heartbeat: p.Heartbeat, Address: p.Address, Version: p.Version, SinceMS: p.SinceMS,
	}
}

// peerOf is a member as the roster shows it.
func peerOf(m cluster.Member) peerDoc {
	return peerDoc{
		Member: m.ID, Incarnation: m.Incarnation, State: m.State, Draining: m.Draining, Revoked: m.Revoked, Heartbeat: m.Heartbeat, SinceMS: m.SinceMS,
		admissionDoc: admissionDoc{Slots: m.Slots, Weight: m.Weight, Capacity: m.Capacity, Labels: m.Labels, Address: m.Address, Version: m.Version},
	}
}

// assignedRecords are the jobs and partitions of our assignments.
func (s *step) assignedRecords() (jobs []cluster.Job, partitions []cluster.Partition) {
	s.slots.Each(func(_ string, h slot) bool {
		id, _, _ := h.Task.Split()
		i := slices.IndexFunc(jobs, func(j cluster.Job) bool { return j.ID == id })
		if i < 0 {
			jobs, i = append(jobs, cluster.Job{ID: id, SpecIndex: h.of.Since, Spec: &cluster.JobSpec{Source: h.of.Source}}), len(jobs)
		}
		if _, ok := jobs[i].Task(h.of.Spec.Name); !ok {
			jobs[i].Spec.Tasks = append(jobs[i].Spec.Tasks, *h.of.Spec)
		}
		partitions = append(partitions, h.partition())
		return true
	})
	slices.SortFunc(partitions, func(a, b cluster.Partition) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return jobs, partitions
}

func (h slot) partition() cluster.Partition {
	p := cluster.Partition{
		ID: h.Task, State: cluster.PartitionGranted, Owner: h.of.Member, Token: h.Token, Attempts: h.Attempt, Parents: h.of.Parents, ListedBy: h.of.Listed,
		Input: h.of.Input, Index: h.of.Share, Count: h.of.Shares, Slot: h.of.Number, From: h.of.From, Cause: h.of.Cause, Offered: h.State == slotAcking,
	}
	switch h.State {
	case slotSealing:
		p.State = cluster.PartitionReleasing
	case slotTaking:
		p.State, p.Owner, p.Next, p.NextToken, p.Token = cluster.PartitionAdopting, h.of.From, h.of.Member, h.Token, 0
	}
	return p
}
