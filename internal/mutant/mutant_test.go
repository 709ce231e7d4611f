package mutant_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/internal/mutant"
)

func TestApplyWantsTheTextOnce(t *testing.T) {
	t.Parallel()
	for _, old := range []string{"no such text" + ".", "mutant"} {
		f := mutant.Flaw{File: "mutant.go", Changes: []mutant.Change{{Old: old}}}
		if _, err := f.Apply("."); err == nil {
			t.Errorf("%q was taken", old)
		}
	}
}

// TestBuild builds a program with another word in it; its source stays as it is.
func TestBuild(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() { print(\"right\") }\n")
	f := mutant.Flaw{File: "main.go", Changes: []mutant.Change{{Old: "right", New: "wrong"}}}
	program, err := f.Build(context.Background(), root, filepath.Join(t.TempDir(), "m"), "example.com/m")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(context.Background(), program).CombinedOutput(); err != nil || string(out) != "wrong" {
		t.Errorf("got %q, %v", out, err)
	}
	if b, _ := os.ReadFile(filepath.Join(root, "main.go")); len(b) == 0 || string(b) != "package main\n\nfunc main() { print(\"right\") }\n" {
		t.Errorf("the source was changed to %q", b)
	}
}
