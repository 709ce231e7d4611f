// Package duty derives what a member runs from its duties in the value, and what it has to say about them from the
// reports of its supervisor.
//
// # Purpose
//
// A protocol decides who may change a record; what a duty means is the same for all. Grants and steps are derived here,
// for every protocol whose members know the value; those that know only their own documents make their grants
// themselves, and share the comparison.
//
// # State
//
// [Work]: what the newest value asks of a member, what of that the supervisor was given, and whether there is anything
// to say of it. [Calm]: since when a partition runs here whose former owners have died.
//
// # Guarantees
//
// Pure functions of their arguments; a Work is a value. Duties and reports are sorted by partition, and so is what is
// returned. A duty of a job or a task that the value does not have is left out. Whether a step is accepted the value
// judges: it is derived again until the value shows it.
package duty

import (
	"iter"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// Work is what a value asks of a member that knows it whole: what it runs, what it says of that, and what it does for
// others. The zero one is that of a member that has just started.
type Work struct {
	Derived
	Changed cluster.Index // Reactions.Changed that the assignment reflects
	Holds   Holds

	asked cluster.Reactions // at the index of the value
	at    cluster.Index
	calm  Calm
}

// Asks is what the value asks for besides duties. Every event asks for it, and only entries change it.
func (w *Work) Asks(c *member.Core, v cluster.Value) cluster.Reactions {
	if w.at != v.Index() {
		w.asked, w.at = v.Reactions(c.Member), v.Index()
	}
	return w.asked
}

// Again begins another life, in which nothing was given yet.
func (w *Work) Again() { w.Changed, w.Derived = 0, Derived{} }

// Assign derives what the supervisor should run, when that or the member's lease has changed.
func (w *Work) Assign(c *member.Core, v cluster.Value) {
	next := c.Given
	if r := w.Asks(c, v); r.Changed != w.Changed || next.Version == 0 {
		w.Changed, w.Derived, c.Silent = r.Changed, w.Derived.At(v, c.Member), false
		next = Granted(next, v.Index(), w.Grants)
	}
	c.Assign(next, c.Own.Until(c.Timing))
}

// Steps are the commands that say what became of the duties.
func (w *Work) Steps(c *member.Core) (out []cluster.Command) {
	if c.Behind() || c.Silent {
		return nil // the supervisor has yet to take in what it should do: "not reported" proves nothing
	}
	out, w.calm = w.calm.Steps(w.Duties, c.Reports, c.At, c.TTL)
	c.Silent = len(out) == 0 && len(w.calm) == 0
	return out
}

// Releases frees the grants of held members whose time is over.
func (w *Work) Releases(c *member.Core, v cluster.Value) (out []cluster.Command) {
	out, w.Holds = w.Holds.Release(slices.Values(w.Asks(c, v).Held), c.At, c.Hold)
	return out
}

// Granted returns the assignment with these grants, as of an index of the log. It is a new version if the supervisor
// has something to do.
func Granted(a protocol.Assignment, index cluster.Index, grants []*protocol.Grant) protocol.Assignment {
	a.Index = index
	if a.Version == 0 || !slices.EqualFunc(grants, a.Grants, same) {
		a.Grants, a.Version = grants, a.Version+1
	}
	return a
}

// same reports whether two grants ask for the same run.
func same(a, b *protocol.Grant) bool {
	return a == b || a.Partition == b.Partition && a.Token == b.Token && a.Attempt == b.Attempt &&
		a.SpecIndex == b.SpecIndex
}

// Holds are the held members with the instants at which they were first seen held, by the member's own clock.
type Holds []Hold

// Hold is one of them. Members that joined at the same index have the same incarnation: the name distinguishes them.
type Hold struct {
	Member      cluster.MemberID
	Incarnation cluster.Incarnation
	Since       protocol.Instant
}

// Release returns the commands that free the grants of members that are held for long enough. Members that are not held
// are skipped.
func (h Holds) Release(members iter.Seq[cluster.Member], now protocol.Instant,
	limit time.Duration) ([]cluster.Command, Holds) {
	var out []cluster.Command
	var next Holds
	for m := range members {
		if m.State != cluster.MemberHeld {
			continue
		}
		at := Hold{m.ID, m.Incarnation, now}
		i := slices.IndexFunc(h, func(h Hold) bool { return h.Member == m.ID && h.Incarnation == m.Incarnation })
		if i >= 0 {
			at = h[i]
		}
		next = append(next, at)
		if now.Sub(at.Since) >= limit {
			out = append(out, cluster.ReleaseHold{Member: m.ID, Incarnation: m.Incarnation})
		}
	}
	return out, next
}

// Derived is what a value asks of a member: its duties, and the grants of what it runs, each sorted by partition. The
// zero one is that of the empty cluster.
type Derived struct {
	Duties []cluster.Duty
	Grants []*protocol.Grant

	of *cluster.Value // nil: the empty cluster
}

// At is what another value asks of the same member. After a few entries it costs what they have changed, and copies of
// the lists.
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
		if now.Role == cluster.RoleStop {
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
