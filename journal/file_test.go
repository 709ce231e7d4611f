package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
)

// A file has a line for each record, and may be renamed between two of them.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	f, err := journal.NewFile(path)
	must.Succeed(t, err)
	must.Succeed(t, f.Append(t.Context(), said(1, "a", "<one>"), said(2, "b", "two\nlines")))
	must.Succeed(t, os.Rename(path, path+".1"))
	must.Succeed(t, f.Append(t.Context(), said(3, "a", "three")))
	for name, want := range map[string][]string{path + ".1": {`"message":"<one>"`, `"message":"two\nlines"`}, path: {`"message":"three"`}} {
		text, err := os.ReadFile(name)
		must.Succeed(t, err)
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%s has %d lines, want %d: %s", name, len(lines), len(want), text)
		}
		for i, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("line %s lacks %s", lines[i], w)
			}
		}
	}
	if _, err := journal.NewFile(filepath.Join(path, "x")); err == nil {
		t.Error("a file below a file: no error")
	}
}
