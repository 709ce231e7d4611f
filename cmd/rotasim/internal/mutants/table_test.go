package mutants_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/cmd/rotasim/internal/mutants"
)

// TestTable: every flaw can still be put into the source, is Go, and has a name of its own.
func TestTable(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range mutants.Table() {
		text, err := f.Apply(filepath.Join("..", "..", "..", ".."))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), f.File, text, 0); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if names[f.Name] {
			t.Errorf("two flaws are named %q", f.Name)
		}
		names[f.Name] = true
	}
	if len(names) < 40 {
		t.Errorf("%d flaws, want 40 at least", len(names))
	}
}
