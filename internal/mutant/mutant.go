// Package mutant builds a program of the root module with one flaw in it.
//
// # Purpose
//
// A check that never fails proves nothing. Programs that check Rota (rotasim, rotachaos) put known flaws into its source, one at a time, and
// expect that each is noticed. The flaws are texts in a table, laid over the source by the compiler: the code that is delivered carries no switch.
//
// # Failures
//
// A text that isn't in its file exactly once is an error: the source has moved on, and the table with it.
package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Flaw is a flaw of one source file.
type Flaw struct {
	Name    string // what the code does wrong with it
	File    string // from the root of the module, with slashes
	Changes []Change
}

// Change replaces a text that stands in the file once.
type Change struct{ Old, New string }

// New is a flaw of a file: each old text is replaced by the new one that follows it.
func New(name, file string, oldNew ...string) Flaw {
	f := Flaw{Name: name, File: file}
	for i := 0; i+1 < len(oldNew); i += 2 {
		f.Changes = append(f.Changes, Change{Old: oldNew[i], New: oldNew[i+1]})
	}
	return f
}

// module is the one that is checked.
const module = "github.com/rota-run/rota"

// Root is the root of the module that is checked. The working directory is in it, or in a module that requires it, as proof does.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Apply returns the text of the file with the flaw.
func (f Flaw) Apply(root string) (string, error) {
	b, err := os.ReadFile(f.path(root))
	if err != nil {
		return "", err
	}
	text := string(b)
	for _, c := range f.Changes {
		if n := strings.Count(text, c.Old); n != 1 {
			return "", fmt.Errorf("%s has the text %q %d times: adapt the table of flaws", f.File, c.Old, n)
		}
		text = strings.Replace(text, c.Old, c.New, 1)
	}
	return text, nil
}

func (f Flaw) path(root string) string { return filepath.Join(root, filepath.FromSlash(f.File)) }

// Build builds a package of the module with the flaw and returns the path of the program, which is in dir.
func (f Flaw) Build(ctx context.Context, root, dir, pkg string) (string, error) {
	return f.compile(ctx, root, dir, pkg, "build", "-buildvcs=false")
}

// BuildTests builds the tests of a package as Build does the package. They expect to be run in the package's directory.
func (f Flaw) BuildTests(ctx context.Context, root, dir, pkg string) (string, error) {
	return f.compile(ctx, root, dir, pkg, "test", "-c", "-vet=off")
}

func (f Flaw) compile(ctx context.Context, root, dir, pkg string, how ...string) (string, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	text, err := f.Apply(root)
	if err != nil {
		return "", err
	}
	changed, overlay, program := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, filepath.Base(pkg))
	table, err := json.Marshal(map[string]map[string]string{"Replace": {f.path(root): changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, table, 0o600)); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", append(how, "-ldflags=-s -w", "-overlay", overlay, "-o", program, pkg)...) //nolint:gosec // the compiler
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return program, nil
}
