package sync

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// assign derives what the supervisor should run, when that or our lease has changed.
func (s *step) assign() {
	if s.phase != phaseMember {
		return
	}
	next := s.assigned
	if r := s.reactions(); r.Changed != s.changed || next.Version == 0 {
		s.changed = r.Changed
		s.duties = s.value.Duties(s.self())
		next.Index = s.value.Index()
		if grants := s.grants(); next.Version == 0 || !slices.EqualFunc(grants, next.Grants, sameGrant) {
			next.Grants, next.Version = grants, next.Version+1
		}
	}
	next.TrustUntil = s.group.lease.Until(s.p.timing())
	if next.Version != s.assigned.Version || next.TrustUntil != s.assigned.TrustUntil {
		s.assigned = next
		s.emit(Assign{Assignment: next})
	}
}

func sameGrant(a, b protocol.Grant) bool {
	return a.Partition == b.Partition && a.Token == b.Token && a.Attempt == b.Attempt && a.SpecIndex == b.SpecIndex
}

func (s *step) grants() []protocol.Grant {
	out := make([]protocol.Grant, 0, len(s.duties))
	for _, d := range s.duties {
		if d.Role == cluster.RoleStop {
			continue
		}
		id, task, _ := d.Partition.ID.Split()
		job, ok := s.value.Job(id)
		if !ok {
			continue
		}
		spec, ok := job.Task(task)
		if !ok {
			continue
		}
		out = append(out, protocol.Grant{
			Partition: d.Partition.ID, Token: d.Token, Handover: spec.Handover, Attempt: d.Partition.Attempts,
			Parents: d.Partition.Parents, ListedBy: d.Partition.ListedBy, Input: d.Partition.Input,
			Index: d.Partition.Index, Count: d.Partition.Count, Spec: spec, SpecIndex: job.SpecIndex, From: d.Partition.From, Cause: d.Partition.Cause,
		})
	}
	return out
}

// steps are the commands that tell the cluster what became of our duties.
func (s *step) steps() []cluster.Command {
	if s.reported < s.assigned.Version {
		return nil // the supervisor has yet to take in what it should do: "not reported" proves nothing
	}
	var out []cluster.Command
	var calm []calmSeen
	i, was := 0, 0
	for _, d := range s.duties { // both lists are sorted by partition
		for i < len(s.reports) && s.reports[i].Partition < d.Partition.ID {
			i++
		}
		var r *protocol.Report
		if i < len(s.reports) && s.reports[i].Partition == d.Partition.ID {
			r = &s.reports[i]
		}
		if c := dutyStep(d, r); c != nil {
			out = append(out, c)
		}
		if d.Role == cluster.RoleRun && d.Partition.Deaths > 0 && r != nil && r.Token == d.Token && r.State == protocol.RunActive {
			var c calmSeen
			c, was = s.calmOf(d, was)
			calm = append(calm, c)
		}
	}
	s.calm = calm
	for _, c := range calm {
		if s.now.Sub(c.since) >= max(calmAfter, 2*s.p.TTL) {
			out = append(out, cluster.Started{Partition: c.partition, Token: c.token})
		}
	}
	return out
}

// calmAfter is how long a member must run what others died of, for that to be forgiven: three crashes in a year, of something else, must park nothing.
const calmAfter = time.Minute

// calmSeen is since when a partition runs here whose former owners have died.
type calmSeen struct {
	partition cluster.PartitionID
	token     cluster.Token
	since     protocol.Instant
}

// calmOf goes on in what was seen before, from the place at, and returns where to go on.
func (s *step) calmOf(d cluster.Duty, at int) (calmSeen, int) {
	for at < len(s.calm) && s.calm[at].partition < d.Partition.ID {
		at++
	}
	if at < len(s.calm) && s.calm[at].partition == d.Partition.ID && s.calm[at].token == d.Token {
		return s.calm[at], at
	}
	return calmSeen{d.Partition.ID, d.Token, s.now}, at
}

// dutyStep is what there is to say about one duty, given what the supervisor reports of it.
func dutyStep(d cluster.Duty, r *protocol.Report) cluster.Command {
	p := d.Partition
	ended := r != nil && r.Token == d.Token && r.State != protocol.RunActive
	switch {
	case ended && r.State == protocol.RunFinished && d.Role != cluster.RoleAdopt:
		return cluster.FinishPartition{Partition: p.ID, Token: d.Token, Outcome: cluster.OutcomeDone}
	case d.Role == cluster.RoleStop && (r == nil || ended):
		return cluster.Stopped{Partition: p.ID, Token: d.Token}
	case d.Role == cluster.RoleAdopt && ended:
		return cluster.Stopped{Partition: p.ID, Token: d.Token}
	case d.Role == cluster.RoleAdopt && r != nil && r.Token == d.Token:
		return cluster.Started{Partition: p.ID, Token: d.Token}
	case d.Role == cluster.RoleRun && ended && r.Attempt == p.Attempts:
		return cluster.FinishPartition{
			Partition: p.ID, Token: d.Token, Outcome: cluster.OutcomeFailed, Attempt: r.Attempt, Fresh: r.Fresh, Message: r.Message,
		}
	}
	return nil
}
