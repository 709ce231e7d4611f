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
		if slices.ContainsFunc(children[:i],
			func(o Child) bool { return o.Key == ch.Key && !slices.Equal(o.Parents, ch.Parents) }) {
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
	p, ok := ordered.Get(&d.partitions, c.Partition)
	if !ok {
		return "no such partition"
	}
	if why := p.owned(c.Token); why != "" {
		return why
	}
	job, task, key := c.Partition.Split()
	j, ok := ordered.Get(&d.jobs, job)
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
		p, ok := ordered.Get(&d.partitions, NewPartitionID(job, task, key))
		if ok && p.spent() && !d.awaited(p.ID) && !d.claimed() {
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
		if _, ok := ordered.Get(&d.partitions, NewPartitionID(job, task, key)); !ok {
			return "the child " + ch.Key + " names the parent " + key +
				", which was never there, or was finished so long ago that it was removed"
		}
	}
	old, ok := ordered.Get(&d.partitions, NewPartitionID(job, task, ch.Key))
	if ok && !old.Dropped && !slices.Equal(old.Parents, ch.Parents) {
		return "the child " + ch.Key + " exists with other parents"
	}
	return ""
}

func (d *draft) addChild(j *jobRecord, task string, ch Child) {
	id := NewPartitionID(j.ID, task, ch.Key)
	if old, ok := ordered.Get(&d.partitions, id); ok && !old.Dropped {
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
		p, _ := ordered.Get(&v.partitions, id)
		return p.State == PartitionBlocked
	})
}

// parentsFinished reports whether nothing holds the partition up. A parent that was removed is wanted no more, and
// holds nobody up.
func (d *draft) parentsFinished(p *partitionRecord) bool {
	for id := range p.parentIDs {
		parent, ok := ordered.Get(&d.partitions, id)
		if ok && parent.State != PartitionFinished {
			return false
		}
	}
	return true
}

// Claim is written by a member that takes a free partition, if Settings.Placement is claimed. Token is the partition's
// last one; the index of the claim becomes the new one. Only the member to which a partition is offered (of spread
// every or pool) may claim it.
type Claim struct {
	Partition   PartitionID
	Token       Token
	Member      MemberID
	Incarnation Incarnation
}

func (Claim) tag() byte { return 48 }

func (c Claim) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	codeText(x, &c.Member)
	codeUint(x, &c.Incarnation)
	return made(x, c)
}

// String returns the command on one line.
func (c Claim) String() string {
	return fmt.Sprintf("claim %s token=%d by %s@%d", c.Partition, c.Token, c.Member, c.Incarnation)
}

// claimed reports whether members take what is free.
func (v *Value) claimed() bool { return v.settings.Placement == PlacementClaimed }

func (c Claim) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	m, joined := ordered.Get(&d.Value.members, c.Member)
	switch {
	case !d.claimed():
		return "the members of this cluster do not claim"
	case !ok:
		return "no such partition"
	case p.Token != c.Token || d.at <= p.Token:
		return "it was claimed since"
	case !joined || m.Incarnation != c.Incarnation || m.State != MemberJoined:
		return "who claims is not a joined member"
	case p.Offered && p.Owner != c.Member:
		return "it is for " + string(p.Owner)
	case !p.Offered && p.State != PartitionWaiting:
		return "it is " + p.State.String()
	}
	if why := d.claimRefused(p, &m.Member); why != "" {
		return why
	}
	d.grant(p, c.Member, p.Cause)
	p, _ = d.edit(c.Partition)
	p.Offered, p.Token = false, d.at
	d.setPartition(p)
	return ""
}

// claimRefused returns why the rules of the task keep a member from it, "" if they do not.
func (d *draft) claimRefused(p *partitionRecord, m *Member) string {
	job, task, _ := p.ID.Split()
	j, ok := ordered.Get(&d.jobs, job)
	if !ok || j.State != JobRunning {
		return "its job has ended"
	}
	if j.Paused() {
		return "its job is paused"
	}
	t, ok := j.Task(task)
	switch {
	case !ok:
		return "its job has no such task"
	case m.Draining:
		return "who claims is draining"
	case !t.allowed(m):
		return "the rules of the task do not allow it"
	}
	return ""
}

// dismiss takes a partition away from its claimant. Its record stays until the claimant reports that it stopped; a
// partition that is offered or free has no claimant and is removed at once.
func (d *draft) dismiss(p *partitionRecord, cause string) {
	if p.Offered || p.State != PartitionGranted && p.State != PartitionReleasing {
		d.removePartition(p.ID)
		return
	}
	p.State, p.Next, p.NextToken, p.Dropped, p.class, p.Cause = PartitionReleasing, "", 0, true, nil, cause
	d.setPartition(p)
}

// sameShares reports whether slots that were claimed one by one are all that were given out together.
func sameShares(held []*partitionRecord) bool {
	seen := make([]int64, 0, len(held))
	for _, p := range held {
		if p.Count != int64(len(held)) || slices.Contains(seen, p.Index) {
			return false
		}
		seen = append(seen, p.Index)
	}
	return true
}
