package cluster

import (
	"bytes"
	"testing"
)

// TestJobsShareASpec: neighbours that say the same have one spec after a load, and what a job says of its workflow is not said of the others.
func TestJobsShareASpec(t *testing.T) {
	spec := JobSpec{Source: "files", Tasks: []TaskSpec{{Name: "x", Type: "noop", Definition: []byte(`{"every_ms":60000}`)}, {Name: "y", Type: "noop"}}}
	joined := spec
	joined.Edges = []Edge{{From: "x", To: "y"}}
	v, _ := Value{}.Apply(Entry{Index: 1, Writer: "w", Seq: 1, Commands: []Command{
		SubmitJob{Job: "a", Spec: spec}, SubmitJob{Job: "b", Spec: spec}, SubmitJob{Job: "c", Spec: joined}, SubmitJob{Job: "d", Spec: spec},
	}})
	data := v.Snapshot()
	got, err := DecodeSnapshot(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data) // no record keeps it
	if again := got.Snapshot(); !bytes.Equal(again, v.Snapshot()) {
		t.Fatalf("read as\n%s\nwant\n%s", got, v)
	}
	a, _ := got.Job("a")
	c, _ := got.Job("c")
	b, _ := got.Job("b")
	if a.Spec != b.Spec || a.Spec == c.Spec || len(a.Spec.Edges) > 0 || len(c.Spec.Edges) != 1 {
		t.Fatalf("a has %+v, b has %+v, c has %+v", a.Spec, b.Spec, c.Spec)
	}
}
