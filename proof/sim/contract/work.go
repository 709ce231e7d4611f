package contract

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// work: every partition is where the rules let it be, and moves within the budget.
func (c *change) work() string {
	if n := c.after.InHandover(); n > max(c.before.InHandover(), c.after.Settings().MoveBudget) {
		return fmt.Sprintf("%d partitions are in hand-over, the budget is %d", n, c.after.Settings().MoveBudget)
	}
	for p := range c.after.Partitions() {
		was, _ := c.before.Partition(p.ID)
		if why := cmp.Or(c.order(was, p), c.placed(was, p), c.stayed(was, p), c.room(p), c.settled(was, p)); why != "" {
			return fmt.Sprintf("%s %s", p.ID, why)
		}
	}
	return cmp.Or(c.kept(), c.shares())
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
	return !slices.ContainsFunc(p.Parents, func(key string) bool {
		parent, ok := c.after.Partition(sibling(p.ID, key))
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
	if !s.Pinned || !before.Pinned || s.Rebalancing || before.Rebalancing || was.State != cluster.PartitionGranted ||
		was.Offered || was.Slot != 0 {
		return ""
	}
	for _, command := range c.entry.Commands {
		switch command.(type) {
		case cluster.Configure, cluster.Rebalance, cluster.SubmitJob, cluster.UpdateJob, cluster.KillJob,
			cluster.PauseJob, cluster.ResumeJob, cluster.FinishPartition:
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

// room: what runs on every member, or takes a slot, leaves a draining member at once; and the slots of a finished task
// are given up.
func (c *change) room(p cluster.Partition) string {
	if p.State != cluster.PartitionGranted || p.Dropped {
		return ""
	}
	job, task, _ := p.ID.Split()
	j, _ := c.after.Job(job)
	t, ok := taskOf(c.after, p.ID)
	switch {
	case p.Slot != 0 && slices.Contains(j.Finished, task):
		return "runs on, its task is finished"
	case (p.Slot != 0 || ok && t.Spread == cluster.SpreadEvery) && c.draining(p.Owner):
		return fmt.Sprintf("runs on %s, which is draining", p.Owner)
	}
	return ""
}

// division is the slots of one task that is repartitioned.
type division struct {
	runs    []cluster.Partition
	leaving cluster.PartitionID // one that has yet to stop
}

// shares: the slots of a task that is repartitioned were given out together, have one share each, and run beside no
// former one.
func (c *change) shares() string {
	tasks := map[cluster.PartitionID]division{}
	for p := range c.after.Partitions() {
		if t, ok := taskOf(c.after, p.ID); p.Count == 0 || !ok || !t.Repartition { // an update may have changed that
			continue
		}
		task := sibling(p.ID, "")
		d := tasks[task]
		if p.State == cluster.PartitionGranted && !p.Dropped {
			d.runs = append(d.runs, p)
		} else {
			d.leaving = p.ID
		}
		tasks[task] = d
	}
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		if why := tasks[task].broken(); why != "" {
			return fmt.Sprintf("%s %s", task, why)
		}
	}
	return ""
}

func (d division) broken() string {
	if len(d.runs) > 0 && d.leaving != "" {
		return fmt.Sprintf("runs as %s, though %s has yet to stop", d.runs[0].ID, d.leaving)
	}
	seen := map[int64]bool{}
	for _, p := range d.runs {
		if n := int64(len(d.runs)); n != p.Count {
			return fmt.Sprintf("has %s as one of %d shares, there are %d", p.ID, p.Count, n)
		}
		if p.Token != d.runs[0].Token || p.Index < 0 || p.Index >= p.Count || seen[p.Index] {
			return fmt.Sprintf("has the share %d of %d under token %d beside one under token %d", p.Index, p.Count,
				p.Token, d.runs[0].Token)
		}
		seen[p.Index] = true
	}
	return ""
}

// advanced: the owner of a partitioner has taken one step from the present one; what it takes out is done, and
// what it adds is there.
func (c *change) advanced(d cluster.AdvanceWindow) string {
	if !c.alone() {
		return ""
	}
	p, _ := c.before.Partition(d.Partition)
	now, _ := c.after.Partition(d.Partition)
	if p.Step != d.Step || now.Step != d.Step+1 || !bytes.Equal(now.Cursor, d.Cursor) {
		return fmt.Sprintf("its step was %d, and is %d at %q", p.Step, now.Step, now.Cursor)
	}
	_, _, key := d.Partition.Split()
	for _, done := range d.Done {
		id := sibling(d.Partition, done)
		was, _ := c.before.Partition(id)
		_, there := c.after.Partition(id)
		again := slices.ContainsFunc(d.Items, func(it cluster.Item) bool { return it.Key == done })
		if was.State != cluster.PartitionFinished || was.ListedBy != key || there != again {
			return fmt.Sprintf("%s was %v", id, was)
		}
	}
	for _, it := range d.Items {
		if now, ok := c.after.Partition(sibling(d.Partition, it.Key)); !ok || now.ListedBy != key ||
			now.Dropped {
			return fmt.Sprintf("the item %s is not there: %v", it.Key, now)
		}
	}
	return ""
}

// settled: what is in a window, or has one, does not move to even the load.
func (c *change) settled(was, p cluster.Partition) string {
	if was.ListedBy == "" && was.Step == 0 || was.State != cluster.PartitionGranted || p.Next == "" || p.Dropped ||
		p.Token != was.Token {
		return ""
	}
	m, _ := c.after.Member(p.Owner)
	if t, ok := taskOf(c.after, p.ID); ok && t.Allows(m) && !m.Draining {
		return fmt.Sprintf("is to move from %s to %s, and could stay", p.Owner, p.Next)
	}
	return ""
}

// kept: an item goes only when its partitioner takes it out, or with its job or task.
func (c *change) kept() string {
	for _, command := range c.entry.Commands {
		switch command.(type) {
		case cluster.AdvanceWindow, cluster.SubmitJob, cluster.UpdateJob, cluster.KillJob, cluster.Configure,
			cluster.FinishPartition, cluster.Stopped:
			return "" // they may have taken it out, ended its job, forgotten it, or were the last that it waited for
		}
	}
	for was := range c.before.Partitions() {
		if _, ok := c.after.Partition(was.ID); !ok && was.ListedBy != "" && !was.Dropped {
			return fmt.Sprintf("%s, which is %s, is gone, and nobody took it out", was.ID, was.State)
		}
	}
	return ""
}

// epoch: it goes up, brings nobody back who has left, and leaves those whom it names as they were.
func (c *change) epoch(d cluster.Epoch) string {
	if was, _ := c.before.Epoch(); cmp.Or(cmp.Compare(d.Start, was.Start),
		cmp.Compare(d.Generation, was.Generation)) <= 0 {
		return "the epoch " + was.String() + " is not below it"
	}
	if !c.alone() {
		return ""
	}
	for _, n := range d.Members {
		was, there := c.before.Member(n.Join.Member)
		now, is := c.after.Member(n.Join.Member)
		same := there && was.Heartbeat == n.Join.Heartbeat && was.State == cluster.MemberJoined
		switch {
		case same && now.Incarnation != was.Incarnation:
			return fmt.Sprintf("%s was in the cluster, and is another incarnation", was.ID)
		case !same && n.Incarnation != 0 && is && now.Incarnation == c.entry.Index:
			return fmt.Sprintf("it brought %s back, which had left", now.ID)
		case n.Incarnation == 0 && (!is || now.Heartbeat != n.Join.Heartbeat):
			return fmt.Sprintf("%s is not in it", n.Join.Member)
		}
	}
	return c.sticky()
}

// sticky: what is granted to a member that stays, stays.
func (c *change) sticky() string {
	for p := range c.before.Partitions() {
		was, _ := c.before.Member(p.Owner)
		m, stays := c.after.Member(p.Owner)
		now, ok := c.after.Partition(p.ID)
		if p.State == cluster.PartitionGranted && stays && m.Incarnation == was.Incarnation && ok &&
			(now.Owner != p.Owner || now.Token != p.Token) {
			return fmt.Sprintf("it took %s from %s, which is in it", p.ID, p.Owner)
		}
	}
	return ""
}

// share: its owner gives it to a member of the epoch.
func (c *change) share(d cluster.Share) string {
	if !c.sharing() {
		return ""
	}
	if m, ok := c.before.Member(d.To); d.To != "" && (!ok || m.State != cluster.MemberJoined) {
		return "its target is not in the epoch"
	}
	return c.owned(d.Partition, d.Token)
}

// void: a share that is refused changes nothing.
func (c *change) void() string {
	if !c.sharing() {
		return ""
	}
	given := make(map[cluster.PartitionID]bool)
	for i, command := range c.entry.Commands {
		if s, ok := command.(cluster.Share); ok && c.done.Results[i].Accepted {
			given[s.Partition] = true
		}
	}
	for i, command := range c.entry.Commands {
		s, ok := command.(cluster.Share)
		if !ok || c.done.Results[i].Accepted || given[s.Partition] {
			continue
		}
		was, _ := c.before.Partition(s.Partition)
		if now, _ := c.after.Partition(s.Partition); now.Owner != was.Owner || now.Token != was.Token ||
			now.State != was.State {
			return fmt.Sprintf("%v was refused, and %s is another", s, s.Partition)
		}
	}
	return ""
}

// sharing: the entry shares, or says what its writer owns, and does nothing else.
func (c *change) sharing() bool {
	return !slices.ContainsFunc(c.entry.Commands, func(command cluster.Command) bool {
		switch command.(type) {
		case cluster.Share, cluster.Own:
			return false
		}
		return true
	})
}
