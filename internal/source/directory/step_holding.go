package directory

import (
	"maps"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// holding is a member's copy of a source from look to look: what it has, and what was removed from it.
type holding struct {
	have       census
	gone       map[cluster.JobID]bool
	missing    map[cluster.JobID]bool // files that the look before did not find
	incomplete bool
}

// note takes up what a scan finds while the copy cannot be published: a file that is removed before the member has joined was in its copy.
func (h *holding) note(scan Scan) {
	touched, all := scan.touched(nil)
	for id, sum := range present(&scan, touched, all) { // order-free: each by itself
		h.have.put(id, sum)
	}
}

// resume takes up what this member published before it was started again: a file that was removed meanwhile was removed from its copy. What this start has
// found already is newer.
func (h *holding) resume(before Inventory) {
	for id, sum := range before.Names { // order-free: each by itself
		if _, newer := h.have.sum[id]; !newer {
			h.have.put(id, sum)
		}
	}
	h.gone = make(map[cluster.JobID]bool, len(before.Gone))
	for _, id := range before.Gone {
		h.gone[id] = true
	}
}

// look compares the copy with a scan, and reports whether a second look has to confirm that a file was removed. A scan that could not look at everything
// removes nothing, nor does a directory that is suddenly empty, as one whose disk is not mounted is.
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
	for id := range h.gone { // order-free: each by itself
		if _, back := h.have.sum[id]; back || !runs(value, id, name) {
			delete(h.gone, id)
		}
	}
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

// runs reports whether a job of this source runs.
func runs(value cluster.Value, id cluster.JobID, name string) bool {
	job, ok := value.Job(id)
	return ok && job.State == cluster.JobRunning && job.Spec.Source == name
}
