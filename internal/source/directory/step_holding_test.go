package directory

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/work"
)

// TestHolding: what a member's copy has after each look, and what was removed from it.
func TestHolding(t *testing.T) {
	t.Parallel()
	var w world
	w.declare("m")
	w.apply(cluster.SubmitJob{Job: "a", Spec: spec("s", "1")})
	partial := found()
	partial.Complete = false
	type step struct {
		scan       Scan
		have, gone string // after it
		again      bool
	}
	for name, steps := range map[string][]step{
		"gone after two looks": {
			{found("a=1"), "a=1", "", false}, {found(), "a=1", "", true},
			{found(), "", "a", false},
		},
		"back after one": {
			{found("a=1"), "a=1", "", false}, {found(), "a=1", "", true},
			{found("a=2"), "a=2", "", false}, {found(), "a=2", "", true},
		},
		"back after it was removed": {
			{found("a=1"), "a=1", "", false}, {found(), "a=1", "", true},
			{found(), "", "a", false}, {found("a=1"), "a=1", "", false},
		},
		"a look that read not all": {
			{found("a=1"), "a=1", "", false}, {partial, "a=1", "", false},
			{partial, "a=1", "", false},
		},
		"what does not run is not gone": {
			{found("z=1"), "z=1", "", false}, {found(), "z=1", "", true},
			{found(), "", "", false},
		},
	} {
		var h holding
		for i, s := range steps {
			again := h.look(s.scan, w.value, "s")
			inv := h.inventory(1)
			have, gone := "", ""
			for _, id := range slices.Sorted(maps.Keys(inv.Names)) {
				have += string(id) + "=" + inv.Names[id]
			}
			for _, id := range inv.Gone {
				gone += string(id)
			}
			if again != s.again || have != s.have || gone != s.gone {
				t.Errorf("%s, look %d: has %q, gone %q, again %t; want %+v", name, i+1, have, gone, again, s)
			}
		}
	}
	var h holding
	h.note(found("a=2"))
	h.resume(Inventory{Names: map[cluster.JobID]string{"a": "1", "b": "1"}, Gone: []cluster.JobID{"c"}}, w.value, "s")
	if h.have.sum["a"] != "2" || h.have.sum["b"] != "1" || !h.gone["c"] {
		t.Errorf("resumed: %v, gone %v", h.have.sum, h.gone)
	}
}

// TestCopiesOfStarts: a copy of a former start counts for nothing, and is kept as long as somebody may need it.
func TestCopiesOfStarts(t *testing.T) {
	t.Parallel()
	var w world
	w.declare("m")
	w.apply(cluster.SubmitJob{Job: "a", Spec: spec("s", "1")})
	m, _ := w.value.Member("m")
	of := func(inc cluster.Incarnation, names ...cluster.JobID) Inventory {
		inv := Inventory{Incarnation: inc, Count: len(names), Names: map[cluster.JobID]string{}}
		for _, id := range names {
			inv.Names[id] = "1"
		}
		return inv
	}
	for name, c := range map[string]struct {
		m, past  Inventory
		held     bool
		needless bool // the past one
	}{
		"of this start":              {of(m.Incarnation, "a"), of(1, "a"), true, true},
		"of a former start":          {of(m.Incarnation+1, "a"), of(1), false, true},
		"the only one with a job":    {of(m.Incarnation), of(1, "a"), false, false},
		"of a job that does not run": {of(m.Incarnation), of(1, "z"), false, true},
		"admitted after this value":  {of(m.Incarnation, "a"), of(w.value.Index()+1, "a"), true, false},
	} {
		copies := CopiesOf(w.value, "s", map[cluster.MemberID]Inventory{"m": c.m, "past": c.past})
		if got := copies.needless(); copies.held("a") != c.held || slices.Contains(got, "past") != c.needless {
			t.Errorf("%s: held %t, needless %v", name, copies.held("a"), got)
		}
	}
}

// TestTallyKeepsFew: of many jobs that were added the journal names some and counts all, and the commands of the others
// are let go.
func TestTallyKeepsFew(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, maxLogged, maxLogged + 1, 100 * maxLogged} {
		var done tally
		var scan Scan
		for i := range n {
			id := cluster.JobID(fmt.Sprintf("t%05d", i))
			scan.Definitions = append(scan.Definitions, Definition{ID: id, Path: string(id) + ".yaml"})
			done.add([]cluster.Command{cluster.SubmitJob{Job: id}, cluster.KillJob{Job: "refused"}},
				[]cluster.Result{{Accepted: true}, {}})
		}
		records := done.records(scan, "s")
		named := min(n, maxLogged)
		if !slices.ContainsFunc(records, func(r journal.Record) bool {
			return r.Partition == "t00000" && r.Message == "t00000.yaml"
		}) || len(done.first) > maxLogged+1 {
			t.Errorf("%d jobs: it keeps %d commands; records %+v", n, len(done.first), records)
		}
		more := journal.Record{Kind: journal.TaskAdded,
			Message: fmt.Sprintf("%d tasks more of source s were added, changed or removed", n-named)}
		if n == named && len(records) != n || n > named && (len(records) != named+1 || records[named] != more) {
			t.Errorf("%d jobs: %d records, the last %+v", n, len(records), records[len(records)-1])
		}
	}
}

// TestEqualFilesShareWhatTheyMean: files with equal contents have one spec, unless their extensions make something else
// of it, and a second scan has the same strings as the first. What is wrong with a name they do not share.
func TestEqualFilesShareWhatTheyMean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noop := `{"type": "noop", "every": "1m"}`
	for name, text := range map[string]string{"a.yaml": noop, "b.yaml": noop, "c.json": noop,
		"d.yaml": "type: noop\nevery: 2m\n", "e.yaml": "type: unknown\n", "f.yaml": "type: unknown\n",
		"rota.x.yaml": noop, "x y.yaml": noop} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	types := work.Types{"noop": {Periodic: true, New: func(work.Definition) (work.Runner, error) { return nil, nil }}}
	s := NewScanner([]string{dir}, "s", types)
	first := s.Scan()
	if len(first.Definitions) != 4 || len(first.Faults) != 4 || first.Faults[0].Path == first.Faults[1].Path {
		t.Fatalf("got %v and %v", first.Definitions, first.Faults)
	}
	d := first.Definitions
	if d[0].Spec != d[1].Spec || d[0].Spec == d[2].Spec || d[0].Spec == d[3].Spec {
		t.Error("equal files do not share a spec, or others do")
	}
	if !same(d[0].Spec, d[2].Spec) || same(d[0].Spec, d[3].Spec) {
		t.Errorf("specs are %v", d)
	}
	again := s.everything(false).Definitions
	for i := range d {
		if unsafe.StringData(again[i].Path) != unsafe.StringData(d[i].Path) {
			t.Errorf("%s: a second scan has a path of its own", d[i].ID)
		}
	}
	if len(s.paths.one) != 4 || len(s.filesOf("a")) != 1 || len(s.filesOf("e")) != 1 {
		t.Errorf("files beside the definitions: %v", s.paths.one)
	}
}
