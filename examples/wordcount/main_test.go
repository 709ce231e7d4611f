package main

import (
	"os"
	"testing"

	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// The job file is sound, and names the types that this program brings.
func TestJobFileIsSound(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	table := map[string]bool{}
	for _, typ := range types(root) {
		table[typ.Name] = true
	}
	id, spec, err := source.ParseJob("job.yaml", data, nil, func(name string) bool { return table[name] })
	if err != nil || id != "wordcount" || len(spec.Tasks) != 3 {
		t.Errorf("%s, %d tasks, %v", id, len(spec.Tasks), err)
	}
	known := work.Types{}
	for _, typ := range types(root) {
		known[typ.Name] = typ
	}
	if data, err = os.ReadFile("flow.yaml"); err != nil {
		t.Fatal(err)
	}
	id, spec, err = source.ParseJob("flow.yaml", data, known, nil)
	if err != nil || id != "wordflow" || len(spec.Tasks) != 3 || len(spec.Edges) != 2 || spec.Batch {
		t.Errorf("%s, %d tasks, %d edges, batch %v, %v", id, len(spec.Tasks), len(spec.Edges), spec.Batch, err)
	}
}
