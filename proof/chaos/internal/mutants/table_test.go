package mutants

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestTable: every flaw can still be put into the source, and is Go.
func TestTable(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..")
	for _, m := range table() {
		text, err := m.Apply(root)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, text, 0); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if len(m.only) == 0 || m.events < 1 || m.proof == "" {
			t.Errorf("%s: it has no events or no proof", m.Name)
		}
	}
}
