package mutant_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
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
		must.Succeed(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() { print(\"right\") }\n")
	f := mutant.Flaw{File: "main.go", Changes: []mutant.Change{{Old: "right", New: "wrong"}}}
	program, err := f.Build(context.Background(), root, filepath.Join(t.TempDir(), "m"), "example.com/m")
	must.Succeed(t, err)
	if out, err := exec.CommandContext(context.Background(), program).CombinedOutput(); err != nil ||
		string(out) != "wrong" {
		t.Errorf("got %q, %v", out, err)
	}
	if b, _ := os.ReadFile(filepath.Join(root, "main.go")); len(b) == 0 ||
		string(b) != "package main\n\nfunc main() { print(\"right\") }\n" {
		t.Errorf("the source was changed to %q", b)
	}
}

// TestBuildTests builds tests that fail because of the flaw.
func TestBuildTests(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"m.go":      "package m\n\nconst one = 1\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one != 1 {\n\t\tt.Error(\"it is not one\")\n\t}\n}\n",
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	for want, f := range map[string]mutant.Flaw{
		"PASS":          {File: "m.go"},
		"it is not one": mutant.New("two", "m.go", "one = 1", "one = 2"),
	} {
		program, err := f.BuildTests(context.Background(), root, t.TempDir(), "example.com/m")
		must.Succeed(t, err)
		if out, _ := exec.CommandContext(context.Background(), program).CombinedOutput(); !strings.Contains(string(out),
			want) {
			t.Errorf("want %q: got %q", want, out)
		}
	}
}
