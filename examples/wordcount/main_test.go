package main

import (
	"os"
	"testing"

	"github.com/rota-run/rota/source"
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
}
