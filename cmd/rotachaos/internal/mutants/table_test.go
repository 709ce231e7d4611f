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
		text, err := m.apply(filepath.Join(root, filepath.FromSlash(m.file)))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, text, 0); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if len(m.only) == 0 || m.events < 1 || m.proof == "" {
			t.Errorf("%s: it has no events or no proof", m.name)
		}
	}
}

func TestApplyWantsTheTextOnce(t *testing.T) {
	t.Parallel()
	for _, old := range []string{"no such text" + ".", "string"} {
		if _, err := (mutant{file: "table.go", changes: []change{{old: old}}}).apply("table.go"); err == nil {
			t.Errorf("%q was taken", old)
		}
	}
}
