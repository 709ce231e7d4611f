package cluster

import (
	"encoding/binary"
	"iter"
	"slices"
)

// Spent yields the finished partitions of a task that splits have made and that nothing waits for. Those that were
// granted first come first. The newest keep of those that have children are left out, and of those without children ten
// times as many: a parent of a merge that is far behind may still name one. What a spec lists is never spent, because an
// update of the job would add it again. Where members claim (protocol lease) nothing is.
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
			more, left := true, v.derived.spent.Len(of.set)-of.keep
			v.derived.spent.Each(of.set, func(key string) bool {
				if left--; left < 0 {
					return false
				}
				id := PartitionID(key[8:])
				if p, _ := v.partitions.Get(id); !v.awaited(id) {
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
		d.derived.spent.Add(set, p.spentKey())
	} else {
		d.derived.spent.Remove(set, p.spentKey())
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
		if parent, ok := d.partitions.Get(id); ok {
			d.indexSpent(&parent.Partition, -1)
		}
	}
	d.derived.markChild(p, by)
	for id := range p.parentIDs {
		if parent, ok := d.partitions.Get(id); ok {
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
