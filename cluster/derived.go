package cluster

import "github.com/rota-run/rota/schedule"

// derived is what can be computed from the records alone. It is kept beside them so that a change costs what it touches;
// a snapshot leaves it out and rebuilds it. Nothing in it may depend on the order in which the records came about.
type derived struct {
	byMember shelves             // by member: Owner or Next
	movable  shelves             // by member \0 class: granted, free to be moved
	unplaced shelves             // by class: waiting for an owner
	counts   tree[string, int64] // member \0 class: owned or on the way to it
	loads    tree[MemberID, load]
	classes  tree[string, classRecord]
	everies  tree[string, PartitionID]   // job \0 task of the live tasks with spread every
	children tree[string, PartitionID]   // parent \0 child, while the child is blocked
	joined   int                         // members that are joined
	moving   int64                       // partitions in hand-over
	pools    tree[string, JobID]         // live jobs with tasks of spread pool
	free     tree[string, schedule.Slot] // slotKey: slots that run nothing
	held     tree[string, heldSlot]      // slotKey
	ended    tree[string, JobID]         // big-endian index of the ending spec \0 job: the oldest ended first
}

type load struct {
	weight int64 // without what is in windows
	window int64 // weight of partitioners and their items
	count  int64 // of all
}

type classRecord struct {
	class *schedule.Class // shared by all jobs and partitions of the class
	refs  int             // partitions of this class
}

func movableKey(m MemberID, class string) string { return string(m) + "\x00" + class }

// holder is the member whose load the partition counts to; "" if none.
func (p *Partition) holder() MemberID {
	switch p.State {
	case PartitionGranted:
		return p.Owner
	case PartitionReleasing, PartitionAdopting:
		return p.Next
	}
	return ""
}

// open reports whether the job of the partition cannot be complete without it.
func (p *Partition) open() bool {
	return p.State != PartitionFinished && !p.Dropped && (p.Slot == 0 || p.former())
}

// former reports whether the owner runs a former partition of this name, which was dropped and added again before it had stopped.
func (p *Partition) former() bool {
	return p.State == PartitionReleasing && p.Next == "" && p.NextToken != 0
}

func (p *Partition) job() JobID {
	job, _, _ := p.ID.Split()
	return job
}

func (p *Partition) moving() bool {
	return p.Next != "" && (p.State == PartitionReleasing || p.State == PartitionAdopting)
}

// index adds (by = 1) or removes (by = −1) a partition to or from everything derived.
func (d *derived) index(p *partitionRecord, by int) {
	d.indexMembers(&p.Partition, by)
	if p.moving() {
		d.moving += int64(by)
	}
	if p.State == PartitionBlocked {
		d.indexParents(&p.Partition, by)
	}
	if p.class == nil {
		return
	}
	d.indexClass(p.class, by)
	key := p.class.Key
	if p.State == PartitionWaiting {
		d.unplaced.mark(key, p.ID, by)
	}
	if p.State == PartitionGranted {
		d.movable.mark(movableKey(p.Owner, key), p.ID, by)
	}
	if h := p.holder(); h != "" {
		d.indexLoad(h, p.class, int64(by))
	}
}

func mark[V any](t *tree[string, V], key string, v V, by int) {
	if by > 0 {
		t.set(key, v)
	} else {
		t.remove(key)
	}
}

func (d *derived) indexMembers(p *Partition, by int) {
	if p.Owner != "" {
		d.byMember.mark(string(p.Owner), p.ID, by)
	}
	if p.Next != "" {
		d.byMember.mark(string(p.Next), p.ID, by)
	}
}

func (d *derived) indexParents(p *Partition, by int) {
	job, task, _ := p.ID.Split()
	for _, key := range p.Parents {
		mark(&d.children, string(NewPartitionID(job, task, key))+"\x00"+string(p.ID), p.ID, by)
	}
}

func (d *derived) indexLoad(m MemberID, class *schedule.Class, by int64) {
	key := string(m) + "\x00" + class.Key
	n, _ := d.counts.get(key)
	if n += by; n == 0 {
		d.counts.remove(key)
	} else {
		d.counts.set(key, n)
	}
	l, _ := d.loads.get(m)
	if inWindows(class) {
		l.window += by * class.Weight
	} else {
		l.weight += by * class.Weight
	}
	l.count += by
	if l.count == 0 {
		d.loads.remove(m)
	} else {
		d.loads.set(m, l)
	}
}

// indexClass counts the partitions of a class; a class without any is forgotten.
func (d *derived) indexClass(class *schedule.Class, by int) {
	c, _ := d.classes.get(class.Key)
	c.class, c.refs = class, c.refs+by
	if c.refs == 0 {
		d.classes.remove(class.Key)
	} else {
		d.classes.set(class.Key, c)
	}
}

func (d *derived) seal() {
	d.byMember.seal()
	d.movable.seal()
	d.unplaced.seal()
	d.counts.seal()
	d.loads.seal()
	d.classes.seal()
	d.everies.seal()
	d.children.seal()
	d.ended.seal()
	d.pools.seal()
	d.free.seal()
	d.held.seal()
}
