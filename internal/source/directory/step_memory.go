package directory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/source"
)

// memory is what a source remembers from look to look. What is exported is kept with its position, for the next owner.
type memory struct {
	// Told are the journaled faults that are not repaired, by task.
	Told map[string]telling `json:"told,omitempty"`
	// Refused are the reasons why the cluster refuses commands of the source about a job.
	Refused map[cluster.JobID]string `json:"refused,omitempty"`
	// Differ is the difference of the copies, as journaled.
	Differ string `json:"differ,omitempty"`

	differ  string                   // at the look before
	since   time.Duration            // when it began to be so
	missing map[cluster.JobID]bool   // jobs whose files the look before did not find
	own     map[cluster.JobID]bool   // jobs whose files this run of the reader has found in its own copy
	seen    map[string]bool          // faults of the look before
	found   []*source.MalformedError // faults of the look before, beside those of its scan
}

type telling struct {
	Path  string   `json:"path"`
	Marks []string `json:"marks"` // of the faults, sorted
}

// wanted is what a look leads to.
type wanted struct {
	commands []cluster.Command
	records  []journal.Record
	changed  bool // what is remembered for the next owner
	again    bool // something has to be confirmed by a second look
}

const (
	maxTold     = 200  // records that one look adds to the journal; the next one tells more
	maxRemember = 2000 // tasks whose faults are remembered for the next owner
)

// steady is how long copies differ in the same way before the journal says so: an edit does not reach all of them at
// once.
const steady = 5 * time.Second

// step decides what to do after a look, at a time since the reader was started. To remove a job, and to say that a file
// is malformed, takes two looks: the first may have met a file that was just being replaced. Nothing is removed while
// the copies of the members are not known (nil).
func (m *memory) step(scan Scan, value cluster.Value, name string, f Fence, copies *Copies, now time.Duration) wanted {
	commands, found := diff(scan, value, name, f, m.missing)
	found = m.others(found, &scan)
	w := wanted{again: scan.Unsettled}
	ids := ""
	sum := func() string {
		if ids == "" {
			ids, _ = everything(scan).sums()
		}
		return ids
	}
	w.commands = m.confirm(commands, &w, func(id cluster.JobID) bool {
		return copies != nil && copies.removable(id, m.own[id], sum)
	})
	m.find(scan, value, name)
	if copies != nil {
		m.compare(copies.Differ(), name, now, &w)
	}
	m.tell(slices.Concat(scan.Faults, found), scan.Complete && !scan.Unsettled, &w)
	m.forget(commands, &scan, &w)
	return w
}

// others adds to the faults that were found beside those of the scan those of what it did not look at again.
func (m *memory) others(found []*source.MalformedError, scan *Scan) []*source.MalformedError {
	if scan.only != nil {
		for _, e := range m.found {
			if !scan.only[source.ID(e.Path)] {
				found = append(found, e)
			}
		}
	}
	m.found = found
	return found
}

// find notes what the own copy has. The member's inventory is published by looks of its own: a file that comes and goes
// between two of them is in none, and yet the reader may have submitted it.
func (m *memory) find(scan Scan, value cluster.Value, name string) {
	if touched, all := scan.touched(nil); !all {
		for _, id := range touched {
			if scan.has(id) {
				m.own[id] = true
			}
		}
		return
	}
	next := make(map[cluster.JobID]bool, len(scan.Definitions)+len(scan.Blocked))
	for _, d := range scan.Definitions {
		next[d.ID] = true
	}
	for _, id := range scan.Blocked {
		next[id] = true
	}
	for id := range m.own { // order-free: each entry by itself
		if runs(value, id, name) {
			next[id] = true
		}
	}
	m.own = next
}

// compare makes a record when copies have differed for a while, and when they are alike again.
func (m *memory) compare(differ, name string, now time.Duration, w *wanted) {
	if differ != m.differ {
		m.differ, m.since = differ, now
	}
	if differ == m.Differ || now-m.since < steady {
		return
	}
	rec := journal.Record{Kind: journal.SourcesDiffer, Partition: string(Job(name).Job), Message: differ}
	if differ == "" {
		rec.Kind, rec.Message = journal.Recovered, "the members' copies are alike again"
	}
	m.Differ, w.changed, w.records = differ, true, append(w.records, rec)
}

// confirm withholds what removes a job that was not missing before, or that another copy may have.
func (m *memory) confirm(commands []cluster.Command, w *wanted, removable func(cluster.JobID) bool) []cluster.Command {
	missing := make(map[cluster.JobID]bool)
	out := make([]cluster.Command, 0, len(commands))
	for _, c := range commands {
		if k, ok := c.(cluster.KillJob); ok {
			missing[k.Job] = true
			if !m.missing[k.Job] {
				w.again = true
				continue
			}
			if !removable(k.Job) {
				continue // a new inventory leads to the next look
			}
		}
		out = append(out, c)
	}
	m.missing = missing
	return out
}

// mark is the hash of a fault among what is remembered.
func mark(e *source.MalformedError) string { return strconv.FormatUint(fnv(fnvBasis, e.Error()), 36) }

// fnvBasis is the hash of nothing.
const fnvBasis = uint64(14695981039346656037)

// fnv extends a hash (FNV-1a, by Fowler, Noll and Vo: it tells accidents apart, not malice).
func fnv(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// tell makes records of faults that were seen twice and not told, and, if the look saw everything, of tasks all of
// whose faults are gone.
func (m *memory) tell(faults []*source.MalformedError, whole bool, w *wanted) {
	seen := make(map[string]bool, len(faults))
	now := make(map[string]telling)
	for _, e := range faults {
		mk, task := mark(e), string(source.ID(e.Path))
		seen[mk] = true
		told := slices.Contains(m.Told[task].Marks, mk)
		switch {
		case told:
		case !m.seen[mk] || len(w.records) == maxTold:
			w.again = true
		default:
			w.records = append(w.records, e.Record())
			told, w.changed = true, true
		}
		if t := now[task]; !told {
			// A fault that replaces another one is no mending.
			if old, ok := m.Told[task]; ok && len(t.Marks) == 0 {
				now[task] = telling{Path: old.Path}
			}
		} else if !slices.Contains(t.Marks, mk) {
			now[task] = telling{Path: e.Path, Marks: append(t.Marks, mk)}
		}
	}
	m.mended(now, whole, w)
	m.seen, m.Told = seen, now
}

// mended tells which tasks have no fault now. After a look that did not see everything their faults count as still
// there.
func (m *memory) mended(now map[string]telling, whole bool, w *wanted) {
	for _, task := range slices.Sorted(maps.Keys(m.Told)) {
		_, still := now[task]
		switch {
		case still:
		case !whole:
			now[task] = m.Told[task]
		default:
			w.changed = true
			w.records = append(w.records, journal.Record{
				Kind: journal.Recovered, Partition: task, Message: m.Told[task].Path + " is well-formed again, or gone",
			})
		}
	}
}

// refused makes a record of a refusal that was not told.
func (m *memory) refused(c cluster.Command, reason string) (journal.Record, bool) {
	id := jobOf(c)
	if m.Refused[id] == reason {
		return journal.Record{}, false
	}
	if m.Refused == nil {
		m.Refused = make(map[cluster.JobID]string)
	}
	m.Refused[id] = reason
	return journal.Record{Kind: journal.Refused, Partition: string(id), Message: fmt.Sprintf("%v: %s", c, reason)}, true
}

// forget drops refusals of what is no longer said.
func (m *memory) forget(commands []cluster.Command, scan *Scan, w *wanted) {
	if len(m.Refused) == 0 {
		return
	}
	said := make(map[cluster.JobID]bool, len(commands))
	for _, c := range commands {
		said[jobOf(c)] = true
	}
	for _, id := range slices.Sorted(maps.Keys(m.Refused)) {
		if !said[id] && (scan.only == nil || scan.only[id]) {
			delete(m.Refused, id)
			w.changed = true
		}
	}
}

// encode is the memory as the position of the source.
func (m *memory) encode() ([]byte, error) {
	kept := memory{Told: m.Told, Refused: m.Refused, Differ: m.Differ}
	if len(kept.Told) > maxRemember {
		kept.Told = make(map[string]telling, maxRemember)
		for _, task := range slices.Sorted(maps.Keys(m.Told))[:maxRemember] {
			kept.Told[task] = m.Told[task]
		}
	}
	return json.Marshal(kept)
}

// decodeMemory is the opposite of encode.
func decodeMemory(data []byte, m *memory) error { return json.Unmarshal(data, m) }
