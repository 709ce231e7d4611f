package leader

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// lighten makes the excerpt of the value that a member has which does not fold the log, and by which each knows its work: all members, complete as of the
// roster's index, and what is assigned to this one.
func (s *step) lighten() {
	jobs, partitions := s.assignedRecords()
	lead := cluster.Leadership{Member: s.roster.Leader, Term: s.roster.Term, SinceMS: s.roster.SinceMS}
	light := s.light.Excerpt(s.roster.Index, lead, s.roster.Members, jobs, partitions)
	s.light = &light
	if !s.Whole() && s.roster.Index > 0 {
		s.Emit(member.Applying{Value: light})
	}
}

// assignedRecords are the jobs and partitions of our assignments. Of a job they may name more than one spec, while they are written again: the newest counts.
func (s *step) assignedRecords() (jobs []cluster.Job, partitions []cluster.Partition) {
	s.slots.Each(func(_ string, h slot) bool {
		of := h.of.Job
		i := slices.IndexFunc(jobs, func(j cluster.Job) bool { return j.ID == of.ID })
		if i < 0 {
			jobs, i = append(jobs, cluster.Job{ID: of.ID, Spec: &cluster.JobSpec{}}), len(jobs)
		}
		j, newer := &jobs[i], of.SpecIndex >= jobs[i].SpecIndex
		if spec, ok := j.Task(of.Spec.Tasks[0].Name); !ok {
			j.Spec.Tasks = append(j.Spec.Tasks, of.Spec.Tasks[0])
		} else if newer {
			*spec = of.Spec.Tasks[0]
		}
		if newer {
			j.SpecIndex, j.Spec.Source = of.SpecIndex, of.Spec.Source
		}
		partitions = append(partitions, h.partition())
		return true
	})
	return jobs, partitions
}

// partition is the record of an assignment in the state that the head tells of.
func (h slot) partition() cluster.Partition {
	p := h.of.Partition
	p.Attempts = h.Attempt
	if h.State == slotTaking {
		return p
	}
	if p.Next == h.of.Member && p.State == cluster.PartitionAdopting { // the move is over since
		p.From = p.Owner
	}
	p.State, p.Owner, p.Token, p.Next, p.NextToken, p.Offered = cluster.PartitionGranted, h.of.Member, h.Token, "", 0, h.State == slotAcking
	if h.State == slotSealing {
		p.State = cluster.PartitionReleasing
	}
	return p
}
