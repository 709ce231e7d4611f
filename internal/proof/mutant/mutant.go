// Package mutant builds programs and tests of this module with known flaws in them.
//
// # Purpose
//
// A check that never fails proves nothing. The programs and tests that check Rota put known flaws into its source, one at a time, and expect
// that each is noticed. A [Flaw] is a text of a file and what replaces it; the compiler lays the changed file over the source, so the code that
// is delivered has no switch. A [Set] lays many flaws over the source at once and builds one program, which takes one of them at its start.
//
// # Failures
//
// A text that isn't in its file exactly once is an error: the source has changed, and the table of flaws must follow.
package mutant

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Flaw is a flaw of one source file.
type Flaw struct {
	Name    string // what the code does wrong with it
	File    string // from the root of the module, with slashes
	Changes []Change
}

// Change replaces a text that the file has once.
type Change struct{ Old, New string }

// New is a flaw of a file: each old text is replaced by the new one that follows it.
func New(name, file string, oldNew ...string) Flaw {
	f := Flaw{Name: name, File: file}
	for i := 0; i+1 < len(oldNew); i += 2 {
		f.Changes = append(f.Changes, Change{Old: oldNew[i], New: oldNew[i+1]})
	}
	return f
}

// Apply returns the text of the file with the flaw.
func (f Flaw) Apply(root string) (string, error) {
	b, err := os.ReadFile(f.path(root))
	if err != nil {
		return "", err
	}
	return f.change(string(b))
}

func (f Flaw) change(text string) (string, error) {
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
	return f.compile(ctx, root, dir, pkg, program)
}

// BuildTests builds the tests of a package as Build does the package. They expect to be run in the package's directory.
func (f Flaw) BuildTests(ctx context.Context, root, dir, pkg string) (string, error) {
	return f.compile(ctx, root, dir, pkg, tests)
}

func (f Flaw) compile(ctx context.Context, root, dir, pkg string, how []string) (string, error) {
	text, err := f.Apply(root)
	if err != nil {
		return "", err
	}
	return overlay{f.path(root): text}.compile(ctx, root, dir, pkg, how)
}
