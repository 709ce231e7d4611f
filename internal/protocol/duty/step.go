package duty

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// calmAfter is how long a member must run what others died of, for that to be forgiven: three crashes in a year, of
// something else, must park nothing.
const calmAfter = time.Minute

// Calm is since when partitions run here whose former owners have died, sorted by partition. The zero value is that of
// a member that has just started.
type Calm []seen

type seen struct {
	partition cluster.PartitionID
	token     cluster.Token
	since     protocol.Instant
}

// Steps returns the commands that say what became of the duties. The reports must be about these duties: "not reported"
// then means that it does not run.
func (c Calm) Steps(duties []cluster.Duty, reports []protocol.Report, now protocol.Instant,
	ttl time.Duration) ([]cluster.Command, Calm) {
	var out []cluster.Command
	var next Calm
	said, was := Reports(reports), 0
	for _, d := range duties {
		r := said.Of(d.Partition.ID)
		if step := Word(d, r); step != nil {
			out = append(out, step)
		}
		if d.Role == cluster.RoleRun && d.Partition.Deaths > 0 && r != nil && r.Token == d.Token &&
			r.State == protocol.RunActive {
			var s seen
			s, was = c.of(d, was, now)
			next = append(next, s)
		}
	}
	for _, s := range next {
		if now.Sub(s.since) >= max(calmAfter, 2*ttl) {
			out = append(out, cluster.Started{Partition: s.partition, Token: s.token})
		}
	}
	return out, next
}

// of continues what was seen before, from the place at, and returns where to continue.
func (c Calm) of(d cluster.Duty, at int, now protocol.Instant) (seen, int) {
	for at < len(c) && c[at].partition < d.Partition.ID {
		at++
	}
	if at < len(c) && c[at].partition == d.Partition.ID && c[at].token == d.Token {
		return c[at], at
	}
	return seen{d.Partition.ID, d.Token, now}, at
}

// Reports are what the supervisor says, sorted by partition.
type Reports []protocol.Report

// Of is the report of a partition, nil for none. Each call must ask for a later partition than the one before.
func (r *Reports) Of(id cluster.PartitionID) *protocol.Report {
	for len(*r) > 0 && (*r)[0].Partition < id {
		*r = (*r)[1:]
	}
	if len(*r) == 0 || (*r)[0].Partition != id {
		return nil
	}
	return &(*r)[0]
}

// Word is what there is to say about one duty, given the supervisor's report about it, if there is one.
func Word(d cluster.Duty, r *protocol.Report) cluster.Command {
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
			Partition: p.ID, Token: d.Token, Outcome: cluster.OutcomeFailed, Attempt: r.Attempt, Fresh: r.Fresh,
			Message: r.Message,
		}
	}
	return nil
}

// runs reports whether the member runs the partition of a duty.
func runs(d cluster.Duty) bool { return d.Role != cluster.RoleStop }
