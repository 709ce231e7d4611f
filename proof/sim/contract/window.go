package contract

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// advanced: the present owner of a partitioner has taken one step from the present one; what it takes out is done, and what it adds is there.
func (c *change) advanced(d cluster.AdvanceWindow) string {
	p, _ := c.before.Partition(d.Partition)
	if p.Owner == "" || p.Token != d.Token {
		return fmt.Sprintf("it belongs to %q under token %d", p.Owner, p.Token)
	}
	if !c.alone() {
		return ""
	}
	now, _ := c.after.Partition(d.Partition)
	if p.Step != d.Step || now.Step != d.Step+1 || !bytes.Equal(now.Cursor, d.Cursor) {
		return fmt.Sprintf("its step was %d, and is %d at %q", p.Step, now.Step, now.Cursor)
	}
	job, task, key := d.Partition.Split()
	for _, done := range d.Done {
		id := cluster.NewPartitionID(job, task, done)
		was, _ := c.before.Partition(id)
		_, there := c.after.Partition(id)
		again := slices.ContainsFunc(d.Items, func(it cluster.Item) bool { return it.Key == done })
		if was.State != cluster.PartitionFinished || was.ListedBy != key || there != again {
			return fmt.Sprintf("%s was %v", id, was)
		}
	}
	for _, it := range d.Items {
		if now, ok := c.after.Partition(cluster.NewPartitionID(job, task, it.Key)); !ok || now.ListedBy != key || now.Dropped {
			return fmt.Sprintf("the item %s is not there: %v", it.Key, now)
		}
	}
	return ""
}

// settled: what is in a window, or has one, does not move to even the load.
func (c *change) settled(was, p cluster.Partition) string {
	if was.ListedBy == "" && was.Step == 0 || was.State != cluster.PartitionGranted || p.Next == "" || p.Dropped || p.Token != was.Token {
		return ""
	}
	job, task, _ := p.ID.Split()
	j, _ := c.after.Job(job)
	t, _ := j.Task(task)
	m, _ := c.after.Member(p.Owner)
	if t != nil && t.Allows(m) && !m.Draining {
		return fmt.Sprintf("is to move from %s to %s, and could stay", p.Owner, p.Next)
	}
	return ""
}

// kept: an item goes only when its partitioner takes it out, or with its job or task.
func (c *change) kept() string {
	for _, command := range c.entry.Commands {
		switch command.(type) {
		case cluster.AdvanceWindow, cluster.SubmitJob, cluster.UpdateJob, cluster.KillJob, cluster.Configure, cluster.FinishPartition, cluster.Stopped:
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
