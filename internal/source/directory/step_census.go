package directory

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

// census is which files a copy has, with hashes that cost what changes, not what there is: sums of the hashes of the
// elements.
type census struct {
	sum       map[cluster.JobID]string // of the definition, "" for an unusable file
	ids, both uint64
	bytes     int // of all ids and hashes, as JSON
}

func (c *census) put(id cluster.JobID, sum string) {
	if c.sum == nil {
		c.sum = make(map[cluster.JobID]string)
	}
	c.drop(id)
	c.sum[id] = sum
	c.count(id, sum, 1)
}

func (c *census) drop(id cluster.JobID) {
	if sum, ok := c.sum[id]; ok {
		delete(c.sum, id)
		c.count(id, sum, -1)
	}
}

func (c *census) count(id cluster.JobID, sum string, times int) {
	one := fnv(fnvBasis, string(id)+"\n")
	c.ids += uint64(times) * one //nolint:gosec // modulo 2^64, as meant
	c.both += uint64(times) * fnv(one, sum)
	c.bytes += times * (len(id) + len(sum) + len(`"":"",`))
}

// sums are the hashes of the ids alone, and with their definitions.
func (c *census) sums() (ids, both string) {
	return strconv.FormatUint(c.ids, 36), strconv.FormatUint(c.both, 36)
}

// names are the elements, nil if they are too large for a document.
func (c *census) names() map[cluster.JobID]string {
	if c.bytes > maxNames {
		return nil
	}
	return maps.Clone(c.sum)
}

// everything is what a scan has, whatever it looked at.
func everything(scan Scan) *census {
	c := &census{sum: make(map[cluster.JobID]string, len(scan.Definitions)+len(scan.Blocked))}
	for _, id := range scan.Blocked {
		c.put(id, "")
	}
	for _, d := range scan.Definitions {
		c.put(d.ID, d.Sum)
	}
	return c
}

// present are the elements that a scan looked at, and those of pending, with their hashes.
func present(scan *Scan, touched []cluster.JobID, all bool) map[cluster.JobID]string {
	if all {
		return everything(*scan).sum
	}
	out := make(map[cluster.JobID]string, len(touched))
	for _, id := range touched {
		if d, ok := scan.definition(id); ok {
			out[id] = d.Sum
		} else if scan.has(id) {
			out[id] = ""
		}
	}
	return out
}

// tally is what one look has changed in the cluster. It keeps few commands: of 100,000 new files the others are let go
// as they are entered.
type tally struct {
	first []cluster.Command // at most maxLogged, and one more
	count int
}

func (t *tally) add(commands []cluster.Command, results []cluster.Result) {
	for i, res := range results[:min(len(results), len(commands))] {
		if res.Accepted {
			t.count++
			if len(t.first) <= maxLogged {
				t.first = append(t.first, commands[i])
			}
		}
	}
}

// records are what the journal says of it: one for each job, up to a bound, and then one for the others.
func (t *tally) records(scan Scan, name string) []journal.Record {
	var out []journal.Record
	for _, c := range t.first[:min(len(t.first), maxLogged)] {
		id := jobOf(c)
		message := "its file is gone from all copies of source " + name
		if i, ok := slices.BinarySearchFunc(scan.Definitions, id, compareID); ok {
			message = scan.Definitions[i].Path
		}
		out = append(out, journal.Record{Kind: kindOf(c), Partition: string(id), Message: message})
	}
	if more := t.count - len(out); more > 0 {
		out = append(out, journal.Record{
			Kind: kindOf(t.first[len(out)]), Message: fmt.Sprintf("%d tasks more of source %s were added, changed or removed", more, name),
		})
	}
	return out
}

func kindOf(c cluster.Command) journal.Kind {
	switch c.(type) {
	case cluster.SubmitJob:
		return journal.TaskAdded
	case cluster.UpdateJob:
		return journal.TaskChanged
	}
	return journal.TaskRemoved
}

// holding is a member's copy of a source from look to look: what it has, and what was removed from it.
type holding struct {
	have       census
	gone       map[cluster.JobID]bool
	missing    map[cluster.JobID]bool // files that the look before did not find
	incomplete bool
}

// note takes up what a scan finds while the copy cannot be published: a file that is removed before the member has
// joined was in its copy.
func (h *holding) note(scan Scan) {
	touched, all := scan.touched(nil)
	for id, sum := range present(&scan, touched, all) { // order-free: each by itself
		h.have.put(id, sum)
	}
}

// resume takes up what this member published before it was started again: a file that was removed meanwhile was removed
// from its copy. What this start has found already is newer.
func (h *holding) resume(before Inventory, value cluster.Value, name string) {
	names := before.Names
	if jobs := running(value, name); !before.named() && jobs.is(before) {
		names = jobs.sum
	}
	for id, sum := range names { // order-free: each by itself
		if _, newer := h.have.sum[id]; !newer {
			h.have.put(id, sum)
		}
	}
	h.gone = make(map[cluster.JobID]bool, len(before.Gone))
	for _, id := range before.Gone {
		h.gone[id] = true
	}
}

// look compares the copy with a scan, and reports whether a second look has to confirm that a file was removed. A scan
// that could not look at everything removes nothing, nor does a directory that is suddenly empty, as one whose disk is
// not mounted is.
func (h *holding) look(scan Scan, value cluster.Value, name string) (again bool) {
	touched, all := scan.touched(h.missing)
	found := present(&scan, touched, all)
	if all {
		touched = slices.Collect(maps.Keys(h.have.sum)) // order-free: each by itself
	}
	lost := make(map[cluster.JobID]bool)
	for _, id := range touched {
		_, had := h.have.sum[id]
		if _, has := found[id]; had && !has {
			lost[id] = true
		}
	}
	h.incomplete = !scan.Complete || len(lost) > tooMany && len(scan.Empty) > 0
	if h.gone == nil {
		h.gone = make(map[cluster.JobID]bool)
	}
	for id := range lost { // order-free: each by itself
		if h.incomplete || !h.missing[id] {
			again = again || !h.incomplete
			continue
		}
		h.gone[id] = true
		h.have.drop(id)
	}
	for id, sum := range found { // order-free: each by itself
		h.have.put(id, sum)
	}
	h.missing = lost
	maps.DeleteFunc(h.gone, func(id cluster.JobID, _ bool) bool {
		_, back := h.have.sum[id]
		return back || !runs(value, id, name)
	})
	return again
}

// inventory is the copy as it is published.
func (h *holding) inventory(inc cluster.Incarnation) Inventory {
	ids, sum := h.have.sums()
	return Inventory{
		Incarnation: inc, Count: len(h.have.sum), IDs: ids, Sum: sum, Names: h.have.names(),
		Gone: slices.Sorted(maps.Keys(h.gone)), Incomplete: h.incomplete,
	}.bounded()
}

// running are the jobs of a source that run, as a copy without definitions.
func running(value cluster.Value, name string) *census {
	c := &census{}
	for job := range value.Jobs() {
		if job.State == cluster.JobRunning && job.Spec.Source == name {
			c.put(job.ID, "")
		}
	}
	return c
}

// is reports whether an inventory is of the same ids, whether or not it says them.
func (c *census) is(i Inventory) bool {
	ids, _ := c.sums()
	return len(c.sum) == i.Count && ids == i.IDs
}

// surplus is how many more jobs run than the copies have, or have lost, where some are too large to say their names.
func (c *Copies) surplus() int {
	files, named := make(map[string]int), true
	for _, m := range c.live {
		inv, ok := c.of[m]
		if !ok || inv.Incomplete {
			return 0
		}
		files[inv.IDs] = max(files[inv.IDs], inv.Count+len(inv.Gone))
		named = named && inv.named()
	}
	if named {
		return 0
	}
	more := len(running(c.value, c.name).sum)
	for _, n := range files { // order-free: a sum
		more -= n
	}
	return more
}

// runs reports whether a job of this source runs.
func runs(value cluster.Value, id cluster.JobID, name string) bool {
	job, ok := value.Job(id)
	return ok && job.State == cluster.JobRunning && job.Spec.Source == name
}
