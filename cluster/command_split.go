package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
)

// SplitPartition adds children. A child runs when all its parents are finished. A child reported by several parents,
// or twice by one, exists once, if they agree about its parents.
//
// Done are keys of finished partitions of the task that are wanted no more: see [Value.Spent]. Those that another split
// has removed, or that a child still waits for, are passed over.
type SplitPartition struct {
	Partition PartitionID
	Token     Token
	Children  []Child
	Done      []string
}

func (SplitPartition) tag() byte { return 13 }

func (c SplitPartition) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	codeList(x, &c.Children, codeChild)
	codeList(x, &c.Done, codeText)
	return made(x, c)
}

// Child is a partition that a split creates. Key and Parents are keys within the task of the split partition.
type Child struct {
	Key     string
	Parents []string
}

func codeChild(x *coder, c *Child) {
	codeText(x, &c.Key)
	codeList(x, &c.Parents, codeText)
}

func (c SplitPartition) check() error {
	children := c.Children
	if len(c.Done) > MaxChildren {
		return fmt.Errorf("done: %d, at most %d are allowed", len(c.Done), MaxChildren)
	}
	if len(children) == 0 || len(children) > MaxChildren {
		return fmt.Errorf("children: %d, between 1 and %d are allowed", len(children), MaxChildren)
	}
	for i, ch := range children {
		path := fmt.Sprintf("children[%d]", i)
		if err := CheckKey(ch.Key); err != nil {
			return at(path+".key", err)
		}
		if len(ch.Parents) > MaxChildren || !slices.IsSorted(ch.Parents) {
			return fmt.Errorf("%s.parents: they are not sorted, or too many", path)
		}
		if slices.ContainsFunc(children[:i], func(o Child) bool { return o.Key == ch.Key && !slices.Equal(o.Parents, ch.Parents) }) {
			return fmt.Errorf("%s.key: %q is there twice, with other parents", path, ch.Key)
		}
	}
	return nil
}

// String returns the command on one line.
func (c SplitPartition) String() string {
	keys := make([]string, len(c.Children))
	for i, ch := range c.Children {
		keys[i] = ch.Key
	}
	s := fmt.Sprintf("split-partition %s token=%d into %s", c.Partition, c.Token, strings.Join(keys, " "))
	if len(c.Done) > 0 {
		s += " without " + strings.Join(c.Done, " ")
	}
	return s
}

// splitPartition adds children. What it refuses it refuses whole.
func (c SplitPartition) apply(d *draft) string {
	p, ok := d.partitions.Get(c.Partition)
	if !ok {
		return "no such partition"
	}
	if why := p.owned(c.Token); why != "" {
		return why
	}
	job, task, key := c.Partition.Split()
	j, ok := d.jobs.Get(job)
	if !ok || j.State != JobRunning || p.Dropped {
		return "its job has ended"
	}
	t, ok := j.Task(task)
	if !ok || t.Spread != SpreadPartitioned {
		return "its task is not partitioned"
	}
	for _, ch := range c.Children {
		if why := d.checkChild(job, task, key, ch); why != "" {
			return why
		}
	}
	for _, ch := range c.Children {
		d.addChild(j, task, ch)
	}
	for _, key := range c.Done {
		if p, ok := d.partitions.Get(NewPartitionID(job, task, key)); ok && p.spent() && !d.awaited(p.ID) && !d.claimed() {
			d.removePartition(p.ID)
		}
	}
	return ""
}

func (d *draft) checkChild(job JobID, task, reporter string, ch Child) string {
	if !slices.Contains(ch.Parents, reporter) {
		return "the child " + ch.Key + " does not name who reports it as a parent"
	}
	for _, key := range ch.Parents {
		if key == ch.Key {
			return "the child " + ch.Key + " is its own parent"
		}
		if _, ok := d.partitions.Get(NewPartitionID(job, task, key)); !ok {
			return "the child " + ch.Key + " names the parent " + key + ", which was never there, or was finished so long ago that it was removed"
		}
	}
	if old, ok := d.partitions.Get(NewPartitionID(job, task, ch.Key)); ok && !old.Dropped && !slices.Equal(old.Parents, ch.Parents) {
		return "the child " + ch.Key + " exists with other parents"
	}
	return ""
}

func (d *draft) addChild(j *jobRecord, task string, ch Child) {
	id := NewPartitionID(j.ID, task, ch.Key)
	if old, ok := d.partitions.Get(id); ok && !old.Dropped {
		return // another parent reported it
	}
	d.addPartition(j, task, ch.Key, ch.Parents)
}

// unblockChildren frees the children whose last parent this was; it has finished or was removed.
func (d *draft) unblockChildren(parent PartitionID) {
	for _, id := range d.childrenOf(parent) {
		if p, _ := d.edit(id); p.State == PartitionBlocked && d.startable(p) {
			d.free(p, "its parents are finished")
		}
	}
}

func (v *Value) childrenOf(parent PartitionID) (children []PartitionID) {
	ordered.Below(&v.derived.children, string(parent)+"\x00", func(_ string, id PartitionID) bool {
		children = append(children, id)
		return true
	})
	return children
}

// awaited reports whether a child still waits for this parent.
func (v *Value) awaited(parent PartitionID) bool {
	return slices.ContainsFunc(v.childrenOf(parent), func(id PartitionID) bool {
		p, _ := v.partitions.Get(id)
		return p.State == PartitionBlocked
	})
}

// parentsFinished reports whether nothing holds the partition up. A parent that was removed is wanted no more, and holds nobody up.
func (d *draft) parentsFinished(p *partitionRecord) bool {
	for id := range p.parentIDs {
		parent, ok := d.partitions.Get(id)
		if ok && parent.State != PartitionFinished {
			return false
		}
	}
	return true
}
