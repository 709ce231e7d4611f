package mutants

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestTable: every flaw can still be put into the source, and is Go.
func TestTable(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..")
	all, err := table()
	must.Succeed(t, err)
	if len(all) < 9 {
		t.Errorf("%d flaws", len(all))
	}
	for _, m := range all {
		text, err := m.Apply(root)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, text, 0); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}
