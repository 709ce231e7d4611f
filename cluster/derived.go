package cluster

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// derived is what can be computed from the records alone. It is kept beside them so that a change costs what it
// touches; a snapshot leaves it out and rebuilds it. Nothing in it may depend on the order in which the records came
// about.
type derived struct {
	byMember ordered.Sets[string, PartitionID] // by member: Owner or Next
	movable  ordered.Sets[string, PartitionID] // by member \0 class: granted, free to be moved
	unplaced ordered.Sets[string, PartitionID] // by class: waiting for an owner
	counts   ordered.Map[string, int64]        // member \0 class: owned or on the way to it
	loads    ordered.Map[MemberID, load]
	classes  ordered.Map[string, classRecord]
	everies  ordered.Map[string, PartitionID]   // job \0 task of the live tasks with spread every
	children ordered.Map[string, PartitionID]   // parent \0 child
	spent    ordered.Sets[string, string]       // task, with \0 for what has children: token, partition; see [Value.Spent]
	joined   int                                // members that are joined
	moving   int64                              // partitions in hand-over
	pools    ordered.Map[string, JobID]         // live jobs with tasks of spread pool
	free     ordered.Map[string, schedule.Slot] // slotKey: slots that run nothing
	held     ordered.Map[string, heldSlot]      // slotKey
	ended    ordered.Map[string, JobID]         // big-endian index of the ending spec, job: the oldest ended first
}

type load struct {
	weight int64 // without what is in windows
	window int64 // weight of partitioners and their items
	count  int64 // of both: what takes room
	own    int64 // weight of what Rota runs for itself
}

type classRecord struct {
	class *schedule.Class // shared by all jobs and partitions of the class
	refs  int             // partitions of this class
}

func movableKey(m MemberID, class string) string { return string(m) + "\x00" + class }

// index adds (by = 1) or removes (by = −1) a partition to or from everything derived.
func (d *derived) index(p *partitionRecord, by int) {
	d.indexMembers(&p.Partition, by)
	if p.moving() {
		d.moving += int64(by)
	}
	if p.class == nil {
		return
	}
	d.indexClass(p.class, by)
	key := p.class.Key
	if p.State == PartitionWaiting {
		shelve(&d.unplaced, key, p.ID, by)
	}
	if p.State == PartitionGranted {
		shelve(&d.movable, movableKey(p.Owner, key), p.ID, by)
	}
	if h := p.holder(); h != "" {
		d.indexLoad(h, p.class, int64(by))
	}
}

// forgetMember takes all that a member has out of the sets, at once: index would take it out one by one. Each of these
// partitions is set or removed after that.
func (d *derived) forgetMember(m MemberID) {
	ordered.DropAll(&d.byMember, string(m))
	ordered.Below(&d.counts, string(m)+"\x00", func(key string, _ int64) bool {
		ordered.DropAll(&d.movable, key)
		return true
	})
}

// forgetPlaced takes the partitions of a class out of those that wait, at once, where the moves, which are done after
// that, place them all.
func (d *derived) forgetPlaced(classes []schedule.Class, moves []schedule.Move) {
	placed := make([]int, len(classes))
	for i := range moves {
		if moves[i].From < 0 {
			placed[moves[i].Class]++
		}
	}
	for i, n := range placed {
		if n > 1 && n == ordered.Count(&d.unplaced, classes[i].Key) {
			ordered.DropAll(&d.unplaced, classes[i].Key)
		}
	}
}

// shelve adds (by > 0) or removes a partition.
func shelve(s *ordered.Sets[string, PartitionID], key string, id PartitionID, by int) {
	if by > 0 {
		ordered.Add(s, key, id)
	} else {
		ordered.Drop(s, key, id)
	}
}

func mark[V any](t *ordered.Map[string, V], key string, v V, by int) {
	if by > 0 {
		ordered.Set(t, key, v)
	} else {
		ordered.Remove(t, key)
	}
}

func (d *derived) indexMembers(p *Partition, by int) {
	if p.Owner != "" {
		shelve(&d.byMember, string(p.Owner), p.ID, by)
	}
	if p.Next != "" {
		shelve(&d.byMember, string(p.Next), p.ID, by)
	}
}

func (d *derived) indexLoad(m MemberID, class *schedule.Class, by int64) {
	key := string(m) + "\x00" + class.Key
	n, _ := ordered.Get(&d.counts, key)
	if n += by; n == 0 {
		ordered.Remove(&d.counts, key)
	} else {
		ordered.Set(&d.counts, key, n)
	}
	l, _ := ordered.Get(&d.loads, m)
	switch kindOf(class) {
	case kindTasks:
		l.weight += by * class.Weight
	case kindWindows:
		l.window += by * class.Weight
	case kindOwn:
		l.own += by * class.Weight
		l.count -= by
	}
	l.count += by
	if l == (load{}) {
		ordered.Remove(&d.loads, m)
	} else {
		ordered.Set(&d.loads, m, l)
	}
}

// indexClass counts the partitions of a class; a class without any is forgotten.
func (d *derived) indexClass(class *schedule.Class, by int) {
	c, _ := ordered.Get(&d.classes, class.Key)
	c.class, c.refs = class, c.refs+by
	if c.refs == 0 {
		ordered.Remove(&d.classes, class.Key)
	} else {
		ordered.Set(&d.classes, class.Key, c)
	}
}

func (d *derived) seal() {
	ordered.SealSets(&d.byMember)
	ordered.SealSets(&d.movable)
	ordered.SealSets(&d.unplaced)
	ordered.Seal(&d.counts)
	ordered.Seal(&d.loads)
	ordered.Seal(&d.classes)
	ordered.Seal(&d.everies)
	ordered.Seal(&d.children)
	ordered.SealSets(&d.spent)
	ordered.Seal(&d.ended)
	ordered.Seal(&d.pools)
	ordered.Seal(&d.free)
	ordered.Seal(&d.held)
}

// Spent yields the finished partitions of a task that splits have made and that nothing waits for. Those that were
// granted first come first. The newest keep of those that have children are left out, and of those without children ten
// times as many: a parent of a merge that is far behind may still name one. What a spec lists is never spent, because
// an update of the job would add it again. Where members claim (protocol lease) nothing is.
func (v Value) Spent(task PartitionID, keep int) iter.Seq[Partition] {
	job, name, _ := task.Split()
	return func(yield func(Partition) bool) {
		if v.claimed() {
			return
		}
		for _, of := range []struct {
			set  string
			keep int
		}{{spentSet(job, name, true), keep}, {spentSet(job, name, false), 10 * keep}} {
			more, left := true, ordered.Count(&v.derived.spent, of.set)-of.keep
			ordered.EachOf(&v.derived.spent, of.set, func(key string) bool {
				if left--; left < 0 {
					return false
				}
				id := PartitionID(key[8:])
				if p, _ := ordered.Get(&v.partitions, id); !v.awaited(id) {
					more = yield(p.Partition)
				}
				return more
			})
			if !more {
				return
			}
		}
	}
}

// spent reports whether a split has made the partition and it is finished.
func (p *Partition) spent() bool { return p.State == PartitionFinished && len(p.Parents) > 0 }

// spentKey puts those that were granted first before the others.
func (p *Partition) spentKey() string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(p.Token))) + string(p.ID)
}

func spentSet(job JobID, task string, parent bool) string {
	set := string(NewPartitionID(job, task, ""))
	if parent {
		return set + "\x00"
	}
	return set
}

// indexSpent adds (by = 1) or removes (by = −1) a partition to or from the spent ones.
func (d *draft) indexSpent(p *Partition, by int) {
	if !p.spent() {
		return
	}
	job, task, _ := p.ID.Split()
	set := spentSet(job, task, len(d.childrenOf(p.ID)) > 0)
	if by > 0 {
		ordered.Add(&d.derived.spent, set, p.spentKey())
	} else {
		ordered.Drop(&d.derived.spent, set, p.spentKey())
	}
}

// link keeps the children of all parents in step with a record that was set or removed: nil for none.
func (d *draft) link(old, p *partitionRecord) {
	if old != nil && p != nil && slices.Equal(old.Parents, p.Parents) {
		return
	}
	if old != nil {
		d.linkParents(&old.Partition, -1)
	}
	if p != nil {
		d.linkParents(&p.Partition, 1)
	}
}

// linkParents moves the parents between those with children and those without.
func (d *draft) linkParents(p *Partition, by int) {
	for id := range p.parentIDs {
		if parent, ok := ordered.Get(&d.partitions, id); ok {
			d.indexSpent(&parent.Partition, -1)
		}
	}
	d.derived.markChild(p, by)
	for id := range p.parentIDs {
		if parent, ok := ordered.Get(&d.partitions, id); ok {
			d.indexSpent(&parent.Partition, 1)
		}
	}
}

// markChild adds (by = 1) a partition to the children of its parents, or removes it (by = −1).
func (d *derived) markChild(p *Partition, by int) {
	for id := range p.parentIDs {
		mark(&d.children, string(id)+"\x00"+string(p.ID), p.ID, by)
	}
}

// parentIDs yields the IDs of the parents.
func (p *Partition) parentIDs(yield func(PartitionID) bool) {
	job, task, _ := p.ID.Split()
	for _, key := range p.Parents {
		if !yield(NewPartitionID(job, task, key)) {
			return
		}
	}
}
