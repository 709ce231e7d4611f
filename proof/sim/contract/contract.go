// Package contract says what each command of the log may do, apart from the code that does it: what the comments of the
// commands in package cluster promise.
//
// [Broken] looks at a value before and after an entry and tells what was not kept. The simulator and the exhaustive
// checker ask it after every entry, so that a flaw of Apply is found even where no owner is hurt by it at once. It
// reads values through their public methods alone, and repeats none of Apply's code.
//
// It judges what can be judged from outside: commands name incarnations and tokens that must be those of the value
// before, since nobody can name an index that is not there yet. Where the first command of an entry may have changed
// what the second one meets, it says nothing.
package contract

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// Broken tells which contract an entry broke that took before to after; "" for none.
func Broken(before, after *cluster.Value, e cluster.Entry, done cluster.Applied) string {
	c := change{before, after, e, done}
	if l, led := before.Leader(); led && (l.Writer != e.Writer || leads(e)) {
		counts := slices.ContainsFunc(done.Results, func(r cluster.Result) bool { return r.Accepted })
		switch {
		case !counts && before.Digest() == after.Digest():
			return "" // it is not of the leader, or of a term that has begun, and did nothing
		case !leads(e):
			return fmt.Sprintf("it counts, though %s wrote it and %s leads", e.Writer, l.Writer)
		}
	}
	if repeated := e.Seq <= before.Wrote(e.Writer); repeated || done.Duplicate {
		return c.duplicate(repeated)
	}
	for i, command := range e.Commands {
		if !done.Results[i].Accepted {
			continue
		}
		if why := c.command(command); why != "" {
			return fmt.Sprintf("%v was accepted: %s", command, why)
		}
	}
	return cmp.Or(c.void(), c.ring(), c.owners(), c.work())
}

// change is one entry and what it did.
type change struct {
	before, after *cluster.Value
	entry         cluster.Entry
	done          cluster.Applied
}

// leads tells whether an entry begins a term.
func leads(e cluster.Entry) (ok bool) {
	if len(e.Commands) > 0 {
		_, ok = e.Commands[0].(cluster.Lead)
	}
	return ok
}

// duplicate: an entry that is in the log twice is applied once.
func (c *change) duplicate(repeated bool) string {
	switch {
	case !repeated:
		return fmt.Sprintf("entry %d counts as a duplicate and is none", c.entry.Index)
	case !c.done.Duplicate, c.before.Digest() != c.after.Digest():
		return fmt.Sprintf("entry %d of %s number %d was applied twice", c.entry.Index, c.entry.Writer, c.entry.Seq)
	}
	return ""
}

// command: what it names must be so.
func (c *change) command(command cluster.Command) string {
	switch d := command.(type) {
	case cluster.PrepareJoin:
		return c.prepared(d)
	case cluster.AcceptJoin:
		return c.accepted(d)
	case cluster.AbortJoin:
		return c.left(d.Member, d.Incarnation, false)
	case cluster.LeaveCluster:
		return c.left(d.Member, d.Incarnation, d.Hold)
	case cluster.ConfirmMember:
		return c.confirmed(d)
	case cluster.DrainMember:
		if m, ok := c.after.Member(d.Member); ok && m.Draining != d.On && c.alone() {
			return "it is not so afterwards"
		}
	case cluster.Started:
		return c.underToken(d.Partition, d.Token, true)
	case cluster.Stopped:
		return c.underToken(d.Partition, d.Token, true)
	case cluster.FinishPartition:
		return c.finished(d)
	case cluster.Epoch:
		return c.epoch(d)
	case cluster.Share:
		return c.share(d)
	case cluster.SubmitJob:
		return c.written(d.By, d.ByToken)
	case cluster.UpdateJob:
		return cmp.Or(c.written(d.By, d.ByToken), c.updated(d))
	case cluster.KillJob:
		return c.written(d.By, d.ByToken)
	case cluster.AdvanceWindow:
		return cmp.Or(c.owned(d.Partition, d.Token), c.advanced(d))
	case cluster.SplitPartition:
		return c.owned(d.Partition, d.Token)
	}
	return ""
}

// alone: no other command of the entry can have changed what this one met.
func (c *change) alone() bool { return len(c.entry.Commands) == 1 }

func (c *change) prepared(d cluster.PrepareJoin) string {
	m, ok := c.before.Member(d.Member)
	if ok && m.Incarnation != d.Replaces || !ok && d.Replaces != 0 {
		return fmt.Sprintf("incarnation %d is in the cluster", m.Incarnation)
	}
	if now, ok := c.after.Member(d.Member); c.alone() &&
		(!ok || now.Incarnation != c.entry.Index || now.Heartbeat != d.Heartbeat) {
		return "it is not prepared afterwards"
	}
	return ""
}

func (c *change) accepted(d cluster.AcceptJoin) string {
	m, _ := c.before.Member(d.Member)
	by, _ := c.before.Member(d.By)
	switch {
	case m.Incarnation != d.Incarnation:
		return "it has another incarnation"
	case by.Incarnation != d.ByIncarnation:
		return "who accepts has another incarnation"
	case c.alone() && by.State != cluster.MemberJoined:
		return "who accepts is not joined"
	case c.alone() && c.before.Successor(d.By) != d.Member:
		return "who accepts does not precede it in the ring"
	}
	return ""
}

func (c *change) left(id cluster.MemberID, i cluster.Incarnation, hold bool) string {
	m, _ := c.before.Member(id)
	if m.Incarnation != i {
		return fmt.Sprintf("its incarnation is %d", m.Incarnation)
	}
	if now, ok := c.after.Member(id); ok && !hold && now.Incarnation == i {
		return "it is there still"
	}
	return ""
}

func (c *change) confirmed(d cluster.ConfirmMember) string {
	if m, _ := c.before.Member(d.Member); m.Incarnation != d.Incarnation {
		return fmt.Sprintf("its incarnation is %d", m.Incarnation)
	}
	if m, ok := c.after.Member(d.Member); ok && c.alone() &&
		(m.Incarnation != c.entry.Index || m.Heartbeat != d.Heartbeat) {
		return "it has no new incarnation and heartbeat"
	}
	return ""
}

func (c *change) underToken(id cluster.PartitionID, t cluster.Token, next bool) string {
	p, _ := c.before.Partition(id)
	if p.Token != t && (!next || p.NextToken != t) {
		return fmt.Sprintf("its token is %d", p.Token)
	}
	return ""
}

// owned: somebody has the partition, under this token.
func (c *change) owned(id cluster.PartitionID, t cluster.Token) string {
	if p, _ := c.before.Partition(id); p.Owner == "" || p.Token != t {
		return fmt.Sprintf("it belongs to %q under token %d", p.Owner, p.Token)
	}
	return ""
}

func (c *change) finished(d cluster.FinishPartition) string {
	if why := c.underToken(d.Partition, d.Token, false); why != "" {
		return why
	}
	p, ok := c.after.Partition(d.Partition)
	if !ok || !c.alone() || d.Outcome != cluster.OutcomeFailed {
		return ""
	}
	if was, _ := c.before.Partition(d.Partition); was.Attempts != d.Attempt {
		return fmt.Sprintf("%d failures are counted already", was.Attempts)
	}
	if t, ok := taskOf(c.after, d.Partition); ok && t.MaxAttempts > 0 && p.Attempts >= t.MaxAttempts &&
		p.State == cluster.PartitionGranted && !p.Dropped {
		return fmt.Sprintf("it failed %d times and is granted", p.Attempts)
	}
	return ""
}

// written: a command that is written under a partition is its present owner's.
func (c *change) written(by cluster.PartitionID, t cluster.Token) string {
	if by == "" {
		return ""
	}
	return c.underToken(by, t, false)
}

func (c *change) updated(d cluster.UpdateJob) string {
	was, ok := c.before.Job(d.Job)
	if !ok || !c.alone() {
		return ""
	}
	if was.Spec.Source != d.Spec.Source {
		return fmt.Sprintf("it is from source %q", was.Spec.Source)
	}
	for i := range d.Spec.Tasks {
		now := &d.Spec.Tasks[i]
		old, ok := was.Task(now.Name)
		if !ok {
			continue
		}
		for _, key := range old.Partitions {
			p, there := c.after.Partition(cluster.NewPartitionID(d.Job, now.Name, key))
			if there && !p.Dropped && !slices.Contains(now.Partitions, key) {
				return fmt.Sprintf("%s is there still", p.ID)
			}
		}
	}
	return ""
}

// taskOf is the task that a partition belongs to.
func taskOf(v *cluster.Value, id cluster.PartitionID) (*cluster.TaskSpec, bool) {
	job, task, _ := id.Split()
	j, _ := v.Job(job)
	return j.Task(task)
}

// sibling is the partition of the same task with another key.
func sibling(id cluster.PartitionID, key string) cluster.PartitionID {
	job, task, _ := id.Split()
	return cluster.NewPartitionID(job, task, key)
}

// ring: whenever somebody could be joined, somebody is.
func (c *change) ring() string {
	_, ok := c.after.FirstJoined()
	for m := range c.after.Members() {
		if m.State != cluster.MemberHeld && !ok {
			return "there are members, and nobody is joined"
		}
	}
	return ""
}

// owners: a partition changes hands under a larger token, and, where its hand-over says so, only after its owner has
// said so or is gone.
func (c *change) owners() string {
	for now := range c.after.Partitions() {
		if m, ok := c.after.Member(now.Owner); now.Owner != "" &&
			(!ok || now.State != cluster.PartitionHeld && m.State != cluster.MemberJoined) {
			return fmt.Sprintf("%s is granted to %s, which is not joined", now.ID, now.Owner)
		}
		was, ok := c.before.Partition(now.ID)
		if !ok || was.Owner == "" || now.Owner == was.Owner {
			continue
		}
		if now.Owner != "" && now.Token <= was.Token {
			return fmt.Sprintf("%s went from %s to %s under token %d after %d", now.ID, was.Owner, now.Owner, now.Token,
				was.Token)
		}
		if was.State != cluster.PartitionHeld && !was.Offered && c.stays(was.Owner) && !c.spoken(now.ID) { // nobody runs what is held, or only offered
			return fmt.Sprintf("%s was taken from %s, which has said nothing", now.ID, was.Owner)
		}
	}
	return ""
}

// stays tells whether a member is the same before and after.
func (c *change) stays(id cluster.MemberID) bool {
	was, _ := c.before.Member(id)
	now, ok := c.after.Member(id)
	return ok && was.Incarnation == now.Incarnation && now.State != cluster.MemberHeld
}

// spoken tells whether a command of the entry is about the partition, or its hand-over waits for nobody.
func (c *change) spoken(id cluster.PartitionID) bool {
	if t, ok := taskOf(c.before, id); !ok || t.Handover == cluster.HandoverFast {
		return true
	}
	return slices.ContainsFunc(c.entry.Commands, func(command cluster.Command) bool {
		switch d := command.(type) {
		case cluster.Started:
			return d.Partition == id
		case cluster.Stopped:
			return d.Partition == id
		case cluster.FinishPartition:
			return d.Partition == id
		case cluster.KillJob, cluster.UpdateJob, cluster.SubmitJob:
			return true
		}
		return false
	})
}
