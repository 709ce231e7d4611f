package directory

import (
	"maps"
	"slices"
	"testing"

	"github.com/rota-run/rota/cluster"
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
	h.resume(Inventory{Names: map[cluster.JobID]string{"a": "1", "b": "1"}, Gone: []cluster.JobID{"c"}})
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

// TestEachFieldIsCompared: a definition that says one thing else is another one.
func TestEachFieldIsCompared(t *testing.T) {
	t.Parallel()
	a := spec("s", "1")
	for name, change := range map[string]func(*cluster.TaskSpec){
		"nothing":  func(*cluster.TaskSpec) {},
		"type":     func(t *cluster.TaskSpec) { t.Type = "x" },
		"name":     func(t *cluster.TaskSpec) { t.Name = "x" },
		"spread":   func(t *cluster.TaskSpec) { t.Spread++ },
		"weight":   func(t *cluster.TaskSpec) { t.Weight++ },
		"handover": func(t *cluster.TaskSpec) { t.Handover++ },
		"labels":   func(t *cluster.TaskSpec) { t.Selector = []cluster.Label{{Key: "k"}} },
		"over":     func(t *cluster.TaskSpec) { t.SpreadOver = "x" },
		"pin":      func(t *cluster.TaskSpec) { t.Pin = "x" }, "attempts": func(t *cluster.TaskSpec) { t.MaxAttempts++ },
		"partitions": func(t *cluster.TaskSpec) { t.Partitions = []string{"x"} },
		"definition": func(t *cluster.TaskSpec) { t.Definition = nil },
	} {
		b := spec("s", "1")
		change(&b.Tasks[0])
		if same(&a, &b) != (name == "nothing") {
			t.Errorf("%s is not compared", name)
		}
	}
}
