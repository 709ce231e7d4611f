package duty

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Derived is what a value asks of a member: its duties, and the grants of what it runs, each sorted by partition. The zero one is that of the empty cluster.
type Derived struct {
	Duties []cluster.Duty
	Grants []*protocol.Grant

	of *cluster.Value // nil: the empty cluster
}

// At is what another value asks of the same member. After a few entries it costs what they have changed, and copies of the lists.
func (d Derived) At(v cluster.Value, self cluster.MemberID) Derived {
	var before cluster.Value
	if d.of != nil {
		before = *d.of
	}
	next := Derived{of: &v, Duties: v.DutiesAfter(before, d.Duties, self)}
	next.Grants = d.grants(v, next.Duties)
	return next
}

// grants takes over those of the duties that are the same.
func (d Derived) grants(v cluster.Value, duties []cluster.Duty) []*protocol.Grant {
	out := make([]*protocol.Grant, 0, len(duties))
	before, had := d.Duties, d.Grants
	for _, now := range duties {
		if !runs(now) {
			continue
		}
		for len(before) > 0 && before[0].Partition.ID < now.Partition.ID {
			before = before[1:]
		}
		for len(had) > 0 && had[0].Partition < now.Partition.ID {
			had = had[1:]
		}
		if len(before) > 0 && before[0] == now && len(had) > 0 && had[0].Partition == now.Partition.ID {
			out = append(out, had[0])
		} else if g, ok := grant(v, now); ok {
			out = append(out, g)
		}
	}
	return out
}

func grant(v cluster.Value, d cluster.Duty) (*protocol.Grant, bool) {
	id, task, _ := d.Partition.ID.Split()
	job, ok := v.Job(id)
	if !ok {
		return nil, false
	}
	spec, ok := job.Task(task)
	if !ok {
		return nil, false
	}
	g := Grant(d.Partition, d.Token, spec, job.SpecIndex)
	if p := d.Partition; p.State == cluster.PartitionAdopting && d.Token == p.NextToken {
		g.From = p.Owner // it still runs there: the move ends when it runs here
	}
	return g, true
}

// Grant is one of a partition that runs here under a token, by the spec of its task as of an index.
func Grant(p *cluster.Partition, token cluster.Token, spec *cluster.TaskSpec, index cluster.Index) *protocol.Grant {
	return &protocol.Grant{
		Partition: p.ID, Token: token, Handover: spec.Handover, Attempt: p.Attempts, Parents: p.Parents,
		ListedBy: p.ListedBy, Input: p.Input, Index: p.Index, Count: p.Count, Spec: spec, SpecIndex: index,
		From: p.From, Cause: p.Cause,
	}
}
