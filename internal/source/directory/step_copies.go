package directory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

// Copies are the copies of one source, as published by the members.
type Copies struct {
	name  string
	value cluster.Value
	live  []cluster.MemberID // that declare the source, sorted
	of    map[cluster.MemberID]Inventory
	past  map[cluster.MemberID]Inventory // of members that are gone
}

// CopiesOf sorts the inventories of a source by the state of their members in the value.
func CopiesOf(value cluster.Value, name string, inventories map[cluster.MemberID]Inventory) *Copies {
	c := &Copies{name: name, value: value, of: make(map[cluster.MemberID]Inventory), past: maps.Clone(inventories)}
	for m := range value.Members() {
		delete(c.past, m.ID)
		if !slices.ContainsFunc(m.Labels, func(l cluster.Label) bool { return l.Key == LabelKey(name) }) {
			continue
		}
		c.live = append(c.live, m.ID)
		if inv, ok := inventories[m.ID]; ok && inv.Incarnation == m.Incarnation {
			c.of[m.ID] = inv
		}
	}
	slices.Sort(c.live)
	return c
}

// Sources returns the names of the sources that living members declare, sorted.
func Sources(value cluster.Value) []string {
	names := make(map[string]bool)
	for m := range value.Members() {
		for _, l := range m.Labels {
			if name, ok := strings.CutPrefix(l.Key, LabelKey("")); ok {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// MayHave reports whether the copy of a living member has a file of this id, or may have it.
func (c *Copies) MayHave(id cluster.JobID) bool {
	return slices.ContainsFunc(c.live, func(m cluster.MemberID) bool {
		inv, ok := c.of[m]
		_, has := inv.Names[id]
		return !ok || inv.Incomplete || !inv.named() || has
	})
}

// Reads reports whether a living member may read the file of a record of kind malformed. If the file could not have its
// name because a job of this source has it, the file belongs to another source.
func (c *Copies) Reads(r journal.Record) bool {
	id := cluster.JobID(r.Partition)
	job, _ := c.value.Job(id)
	return c.MayHave(id) && (job.Spec == nil || job.Spec.Source != c.name || !strings.Contains(r.Message, taken))
}

// named reports whether an inventory says all its names.
func (i Inventory) named() bool { return len(i.Names) == i.Count }

// removable reports whether a job may be removed: its file was in the copy of a member that lives and was removed from
// it, and no other copy has it. witnessed says that the caller has seen the file go from its own copy. ids is the hash
// of all ids of a copy that does not have it.
func (c *Copies) removable(id cluster.JobID, witnessed bool, ids func() string) bool {
	for _, m := range c.live {
		inv, ok := c.of[m]
		if !ok || inv.Incomplete || !inv.named() && inv.IDs != ids() {
			return false
		}
		if _, has := inv.Names[id]; has {
			return false
		}
		_, gone := slices.BinarySearch(inv.Gone, id)
		witnessed = witnessed || gone
	}
	return witnessed
}

// Orphans returns the running jobs of the source that no copy has, sorted: those of a file that only a departed member
// had. They are never removed automatically. The error names a living member whose copy is unknown.
func (c *Copies) Orphans() ([]cluster.JobID, error) {
	if len(c.live) == 0 {
		return nil, fmt.Errorf("no living member declares the source %q: start one that has it, or stop its jobs",
			c.name)
	}
	for _, m := range c.live {
		inv, ok := c.of[m]
		switch {
		case !ok:
			return nil, fmt.Errorf("%s has not said yet which files it has", m)
		case inv.Incomplete:
			return nil, fmt.Errorf("%s cannot read all of its files", m)
		case !inv.named():
			return nil, fmt.Errorf("%s has too many files to name them", m)
		}
	}
	var out []cluster.JobID
	for job := range c.value.Jobs() {
		if job.State == cluster.JobRunning && job.Spec.Source == c.name && !c.held(job.ID) &&
			!c.removable(job.ID, false, nil) {
			out = append(out, job.ID)
		}
	}
	return out, nil
}

// needless are the members that are gone and whose copies had nothing that runs and that no copy has now. One that was
// admitted after this value is not gone.
func (c *Copies) needless() []cluster.MemberID {
	var out []cluster.MemberID
	for _, m := range slices.Sorted(maps.Keys(c.past)) {
		inv := c.past[m]
		needed := uint64(inv.Incarnation) > uint64(c.value.Index())
		for _, id := range slices.Sorted(maps.Keys(inv.Names)) {
			needed = needed || runs(c.value, id, c.name) && !c.held(id)
		}
		if !needed {
			out = append(out, m)
		}
	}
	return out
}

func (c *Copies) held(id cluster.JobID) bool {
	return slices.ContainsFunc(c.live, func(m cluster.MemberID) bool { _, ok := c.of[m].Names[id]; return ok })
}

// Differ describes how the copies differ from each other and from the running jobs; "" if they do not.
func (c *Copies) Differ() string {
	var parts []string
	if counts := c.counts(); counts != "" {
		parts = append(parts, counts)
	}
	parts = append(parts, c.names()...)
	orphans, err := c.Orphans()
	switch surplus := c.surplus(); {
	case surplus > 0:
		parts = append(parts, fmt.Sprintf("%d more run than have a file: put files for them there, and remove them again",
			surplus))
	case len(orphans) > 0:
		parts = append(parts, listed(orphans)+c.verb(orphans)+c.had(orphans))
	case err != nil && len(parts) > 0:
		parts = append(parts, err.Error())
	}
	return strings.Join(parts, "; ")
}

func (c *Copies) verb(orphans []cluster.JobID) string {
	if len(orphans) == 1 {
		return " runs, and no copy has it"
	}
	return " run, and no copy has them"
}

// had names the members, gone now, whose copies had the first of these jobs.
func (c *Copies) had(ids []cluster.JobID) string {
	var members []cluster.MemberID
	for _, m := range slices.Sorted(maps.Keys(c.past)) {
		if _, ok := c.past[m].Names[ids[0]]; ok {
			members = append(members, m)
		}
	}
	if len(members) == 0 {
		return ""
	}
	return " (" + listed(members) + " had)"
}

// counts say how many tasks each copy has, where the copies do not have the same.
func (c *Copies) counts() string {
	var parts []string
	sums := make(map[string]bool)
	for _, m := range c.live {
		inv, ok := c.of[m]
		if !ok {
			continue
		}
		sums[inv.IDs] = true
		if len(parts) == 0 {
			noun := "tasks"
			if inv.Count == 1 {
				noun = "task"
			}
			parts = append(parts, fmt.Sprintf("%s has %d %s", m, inv.Count, noun))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s has %d", m, inv.Count))
	}
	if len(sums) < 2 {
		return ""
	}
	if more := len(parts) - maxListed; more > 1 {
		parts = append(parts[:maxListed], fmt.Sprintf("and %d members more", more))
	}
	return strings.Join(parts, ", ")
}

// names say which tasks are not in all copies, and which are not the same in all.
func (c *Copies) names() []string {
	ids := make(map[cluster.JobID]bool)
	for _, m := range c.live {
		if inv, ok := c.of[m]; ok && !inv.named() {
			return c.unnamed()
		}
		for _, id := range slices.Sorted(maps.Keys(c.of[m].Names)) {
			ids[id] = true
		}
	}
	groups := make(map[string][]cluster.JobID)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if where := c.where(id); where != "" {
			groups[where] = append(groups[where], id)
		}
	}
	var out []string
	for _, where := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, listed(groups[where])+" "+where)
	}
	if len(out) > maxListed {
		out = append(out[:maxListed], "and more")
	}
	return out
}

// unnamed is names where a copy is too large to say its names.
func (c *Copies) unnamed() []string {
	ids, sums := make(map[string]bool), make(map[string]bool)
	for _, m := range c.live {
		if inv, ok := c.of[m]; ok {
			ids[inv.IDs], sums[inv.Sum] = true, true
		}
	}
	if len(ids) == 1 && len(sums) > 1 {
		return []string{"definitions are not the same at all members"}
	}
	return nil
}

// where says where a task is, if not in all copies alike.
func (c *Copies) where(id cluster.JobID) string {
	var has, lacks []cluster.MemberID
	versions := make(map[string]bool)
	for _, m := range c.live {
		inv, ok := c.of[m]
		if !ok {
			continue
		}
		if sum, ok := inv.Names[id]; ok {
			has = append(has, m)
			versions[sum] = true
		} else {
			lacks = append(lacks, m)
		}
	}
	switch {
	case len(lacks) > 0 && len(has) <= len(lacks):
		return "only at " + listed(has)
	case len(lacks) > 0:
		return "not at " + listed(lacks)
	case len(versions) > 1:
		return "not the same at " + listed(has)
	}
	return ""
}

// maxListed bounds lists for people.
const maxListed = 3

// listed is a list with commas, cut where it is long.
func listed[T ~string](all []T) string {
	var out []string
	for _, s := range all[:min(len(all), maxListed)] {
		out = append(out, string(s))
	}
	if more := len(all) - len(out); more > 0 {
		return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(out, ", ")
}
