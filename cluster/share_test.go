package cluster

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestEqualSpecsAreOne: jobs that follow each other by name and have equal specs have one in memory, in a value that
// came about by entries and in one from a snapshot.
func TestEqualSpecsAreOne(t *testing.T) {
	t.Parallel()
	s := &script{t: t}
	s.join("m")
	other := single("d")
	other.Spec.Tasks[0].Definition = []byte("other")
	s.ok(single("a"))
	s.ok(single("c"))
	s.ok(single("b"))
	s.ok(other)
	s.ok(single("e"))
	chained := JobSpec{Tasks: []TaskSpec{{Name: "x", Type: "noop"}, {Name: "y", Type: "noop"}}}
	joined := chained
	joined.Edges = []Edge{{From: "x", To: "y"}}
	s.ok(SubmitJob{Job: "f", Spec: chained}, SubmitJob{Job: "g", Spec: joined}, SubmitJob{Job: "h", Spec: chained})
	data := s.v.Snapshot()
	loaded := must.Get(DecodeSnapshot(data))(t)
	clear(data) // no record keeps it
	if again := loaded.Snapshot(); !bytes.Equal(again, s.v.Snapshot()) {
		t.Fatalf("read as\n%s\nwant\n%s", loaded, s.v)
	}
	for what, v := range map[string]Value{"applied": s.v, "loaded": loaded} {
		specs := make(map[string]*JobSpec)
		for j := range v.Jobs() {
			specs[string(j.ID)] = j.Spec
		}
		if specs["a"] != specs["b"] || specs["a"] != specs["c"] {
			t.Errorf("%s: equal specs are not one", what)
		}
		if specs["d"] == specs["c"] || string(specs["d"].Tasks[0].Definition) != "other" || specs["e"] == specs["d"] {
			t.Errorf("%s: other specs are one", what)
		}
		if len(specs["f"].Edges) > 0 || len(specs["g"].Edges) != 1 || len(specs["h"].Edges) > 0 {
			t.Errorf("%s: what a job says of its workflow is said of others", what)
		}
		p, _ := v.Partition("a")
		j, _ := v.Job("a")
		m, _ := v.Member("m")
		if unsafe.StringData(string(p.ID)) != unsafe.StringData(string(j.ID)) ||
			unsafe.StringData(string(p.Owner)) != unsafe.StringData(string(m.ID)) {
			t.Errorf("%s: equal names are not one", what)
		}
	}
	update := UpdateJob{Job: "b", Spec: other.Spec}
	s.ok(update)
	a, _ := s.v.Job("a")
	if string(a.Spec.Tasks[0].Definition) == "other" {
		t.Error("an update of one job changed another one")
	}
}
