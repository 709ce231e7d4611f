package contract

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// division is the slots of one task that is repartitioned.
type division struct {
	runs    []cluster.Partition
	leaving cluster.PartitionID // one that has yet to stop
}

// shares: the slots of a task that is repartitioned were given out together, have one share each, and run beside no former one.
func (c *change) shares() string {
	tasks := map[cluster.PartitionID]division{}
	for p := range c.after.Partitions() {
		if p.Count == 0 || !c.parted(p.ID) {
			continue
		}
		job, task, _ := p.ID.Split()
		id := cluster.NewPartitionID(job, task, "")
		d := tasks[id]
		if p.State == cluster.PartitionGranted && !p.Dropped {
			d.runs = append(d.runs, p)
		} else {
			d.leaving = p.ID
		}
		tasks[id] = d
		if why := d.broken(); why != "" {
			return fmt.Sprintf("%s %s", id, why)
		}
	}
	for p := range c.after.Partitions() {
		job, task, _ := p.ID.Split()
		d := tasks[cluster.NewPartitionID(job, task, "")]
		if n := int64(len(d.runs)); p.Count > 0 && n > 0 && n != p.Count {
			return fmt.Sprintf("%s is one of %d shares, there are %d", p.ID, p.Count, n)
		}
	}
	return ""
}

// parted tells whether the task is still to be repartitioned: an update may have changed that.
func (c *change) parted(id cluster.PartitionID) bool {
	t, ok := taskOf(c.after, id)
	return ok && t.Repartition
}

func (d division) broken() string {
	if len(d.runs) > 0 && d.leaving != "" {
		return fmt.Sprintf("runs as %s, though %s has yet to stop", d.runs[0].ID, d.leaving)
	}
	seen := map[int64]bool{}
	for _, p := range d.runs {
		if p.Token != d.runs[0].Token || p.Index < 0 || p.Index >= p.Count || seen[p.Index] {
			return fmt.Sprintf("has the share %d of %d under token %d beside one under token %d", p.Index, p.Count, p.Token, d.runs[0].Token)
		}
		seen[p.Index] = true
	}
	return ""
}
