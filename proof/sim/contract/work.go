package contract

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// job: what changes jobs comes from who may change them, and does it.
func (c *change) job(command cluster.Command) string {
	switch d := command.(type) {
	case cluster.SubmitJob:
		return c.written(d.By, d.ByToken)
	case cluster.UpdateJob:
		if why := c.written(d.By, d.ByToken); why != "" {
			return why
		}
		return c.updated(d)
	case cluster.KillJob:
		return c.written(d.By, d.ByToken)
	case cluster.AdvanceWindow:
		return c.advanced(d)
	case cluster.SplitPartition:
		if p, _ := c.before.Partition(d.Partition); p.Owner == "" || p.Token != d.Token {
			return fmt.Sprintf("it belongs to %q under token %d", p.Owner, p.Token)
		}
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

// work: every partition is where the rules let it be, and moves within the budget.
func (c *change) work() string {
	if n := c.after.InHandover(); n > max(c.before.InHandover(), c.after.Settings().MoveBudget) {
		return fmt.Sprintf("%d partitions are in hand-over, the budget is %d", n, c.after.Settings().MoveBudget)
	}
	for p := range c.after.Partitions() {
		was, _ := c.before.Partition(p.ID)
		for _, why := range []string{c.order(was, p), c.placed(was, p), c.stayed(was, p), c.room(p), c.settled(was, p)} {
			if why != "" {
				return fmt.Sprintf("%s %s", p.ID, why)
			}
		}
	}
	if why := c.kept(); why != "" {
		return why
	}
	return c.shares()
}

// order: a partition is given out when its parents are finished, and then.
func (c *change) order(was, p cluster.Partition) string {
	switch ready := c.ready(p); {
	case !ready && was.Owner == "" && p.Owner != "":
		return "is given out before its parents are finished"
	case ready && p.State == cluster.PartitionBlocked:
		return "waits though its parents are finished"
	}
	return ""
}

// ready tells whether no parent holds the partition up.
func (c *change) ready(p cluster.Partition) bool {
	job, task, _ := p.ID.Split()
	return !slices.ContainsFunc(p.Parents, func(key string) bool {
		parent, ok := c.after.Partition(cluster.NewPartitionID(job, task, key))
		return ok && parent.State != cluster.PartitionFinished
	})
}

// placed: nothing is newly planned for a member that is draining. What was on its way there, or held for it, may come.
func (c *change) placed(was, p cluster.Partition) string {
	if p.Owner != was.Owner && p.Owner != was.Next && c.draining(p.Owner) {
		return fmt.Sprintf("is given to %s, which is draining", p.Owner)
	}
	if p.Next != was.Next && c.draining(p.Next) {
		return fmt.Sprintf("is to move to %s, which is draining", p.Next)
	}
	return ""
}

// stayed: what runs in a pinned cluster stays with its owner while that lives, is not draining, and may run it.
func (c *change) stayed(was, p cluster.Partition) string {
	s, before := c.after.Settings(), c.before.Settings()
	if !s.Pinned || !before.Pinned || s.Rebalancing || before.Rebalancing || was.State != cluster.PartitionGranted || was.Offered || was.Slot != 0 {
		return ""
	}
	for _, command := range c.entry.Commands {
		switch command.(type) {
		case cluster.Configure, cluster.Rebalance, cluster.SubmitJob, cluster.UpdateJob, cluster.KillJob, cluster.PauseJob, cluster.ResumeJob, cluster.FinishPartition:
			return "" // what runs may be another one of this name, or has moved on demand
		}
	}
	owner, _ := c.before.Member(was.Owner)
	now, _ := c.after.Member(was.Owner)
	to := cmp.Or(p.Next, p.Owner)
	if to == was.Owner || to == "" || owner.Incarnation != now.Incarnation || owner.Draining || now.Draining {
		return ""
	}
	if t, ok := taskOf(c.after, p.ID); !ok || !t.Allows(now) {
		return ""
	}
	return fmt.Sprintf("goes from %s to %s, and is pinned", was.Owner, to)
}

func (c *change) draining(id cluster.MemberID) bool {
	m, _ := c.after.Member(id)
	return m.Draining
}

// room: what runs on every member, or takes a slot, leaves a draining member at once; and the slots of a finished task are given up.
func (c *change) room(p cluster.Partition) string {
	if p.State != cluster.PartitionGranted || p.Dropped {
		return ""
	}
	job, task, _ := p.ID.Split()
	j, _ := c.after.Job(job)
	t, ok := j.Task(task)
	switch {
	case p.Slot != 0 && slices.Contains(j.Finished, task):
		return "runs on, its task is finished"
	case (p.Slot != 0 || ok && t.Spread == cluster.SpreadEvery) && c.draining(p.Owner):
		return fmt.Sprintf("runs on %s, which is draining", p.Owner)
	}
	return ""
}
