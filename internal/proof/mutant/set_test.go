package mutant_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

// module writes a module of one program, with flaws in two packages, and returns its directory.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"main.go": "package main\n\nimport \"example.com/m/sum\"\n\n// main prints.\nfunc main() {\n\tprint(word(), sum.Of(2, 3))\n\tend()\n}\n\n" +
			"func word() string { return \"five: \" }\n\nfunc end() {\n\tif word() != \"\" {\n\t\tprint(\".\")\n\t}\n}\n",
		"sum/sum.go":      "package sum\n\n// Of adds.\nfunc Of(a, b int) (c int) {\n\tc = a + b\n\treturn\n}\n",
		"sum/sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) {\n\tif c := Of(2, 3); c != 5 {\n\t\tt.Fatal(c)\n\t}\n}\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o750))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

var set = mutant.Set{
	mutant.New("minus", "sum/sum.go", "a + b", "a - b"),
	mutant.New("another word", "main.go", "\"five: \"", "\"six: \""),
	mutant.New("no end", "main.go", "\tif word() != \"\" {\n\t\tprint(\".\")\n\t}\n", "\t// nothing\n"),
	mutant.New("twice", "sum/sum.go", "\tc = a + b\n", "\tif c := a + b; c > 0 {\n\t\treturn 2 * c\n\t}\n"),
	mutant.New("word and end", "main.go", "\"five: \"", "\"seven: \"", "print(\".\")", "print(\"!\")"),
}

// TestSetTakesOneFlaw builds one program and starts it with each of its flaws, and with none.
func TestSetTakesOneFlaw(t *testing.T) {
	t.Parallel()
	program, err := set.Build(t.Context(), module(t), t.TempDir(), "example.com/m")
	must.Succeed(t, err)
	if got := run(t, program, set.Sound()); got != "five: 5." {
		t.Errorf("without a flaw it prints %q", got)
	}
	for name, want := range map[string]string{
		"minus": "five: -1.", "another word": "six: 5.", "no end": "five: 5", "twice": "five: 10.",
		"word and end": "seven: 5!",
	} {
		environ, err := set.Environ(name)
		must.Succeed(t, err)
		if got := run(t, program, environ); got != want {
			t.Errorf("%s: it prints %q, want %q", name, got, want)
		}
	}
	if _, err := set.Environ("no such flaw"); err == nil {
		t.Error("an unknown flaw was taken")
	}
}

// TestSetBuildsTests builds the tests of a package with its flaws.
func TestSetBuildsTests(t *testing.T) {
	t.Parallel()
	program, err := set.BuildTests(t.Context(), module(t), t.TempDir(), "example.com/m/sum")
	must.Succeed(t, err)
	if got := run(t, program, set.Sound()); got != "PASS\n" {
		t.Errorf("without a flaw it prints %q", got)
	}
	environ, err := set.Environ("minus")
	must.Succeed(t, err)
	if got := run(t, program, environ); !strings.Contains(got, "--- FAIL: TestOf") {
		t.Errorf("with a flaw it prints %q", got)
	}
}

// TestSetChangesBodiesAlone: what else a flaw could change can't be chosen at the start.
func TestSetChangesBodiesAlone(t *testing.T) {
	t.Parallel()
	root := module(t)
	if err := set.Check(root); err != nil {
		t.Error(err)
	}
	if err := append(set[:1:1], set[0]).Check(root); err == nil {
		t.Error("two flaws of one name were taken")
	}
	for name, f := range map[string]mutant.Flaw{
		"a signature":      mutant.New("f", "sum/sum.go", "a, b int", "a, b, d int"),
		"a comment":        mutant.New("f", "sum/sum.go", "Of adds", "Of subtracts"),
		"nothing":          mutant.New("f", "sum/sum.go", "a + b", "a + b"),
		"another function": mutant.New("f", "sum/sum.go", "\treturn\n}", "\treturn\n}\n\nfunc more() {}"),
		"no Go":            mutant.New("f", "sum/sum.go", "\treturn", "\tretur n"),
		"another text":     mutant.New("f", "sum/sum.go", "a * b", "a + b"),
		"another file":     mutant.New("f", "sum/product.go", "a + b", "a - b"),
	} {
		if (mutant.Set{f}).Check(root) == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// run is what a program prints.
func run(t *testing.T, program string, environ []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = environ
	out, _ := cmd.CombinedOutput() // tests that fail end with an error
	return string(out)
}
