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

// What is built of a package.
var (
	program = []string{"build", "-buildvcs=false"}
	tests   = []string{"test", "-c", "-vet=off", "-gcflags=-e"} // all that the compiler complains of, for BuildViable
)

const tableName = "overlay.json"

// overlay has the texts of files, by path, that the compiler reads in place of those on the disk.
type overlay map[string]string

// compile builds a package of the module at root, or a folder below it, and returns the path of the program, which is in dir.
func (o overlay) compile(ctx context.Context, root, dir, pkg string, how []string) (string, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	table, err := o.write(dir)
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, filepath.Base(pkg))
	at := root
	if rest, ok := strings.CutPrefix(pkg, "./"); ok { // a folder, perhaps of a module of its own
		at, pkg = filepath.Join(root, filepath.FromSlash(rest)), "."
	}
	args := append(how[:len(how):len(how)], "-ldflags=-s -w", "-overlay", table, "-o", out, pkg)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the compiler
	cmd.Dir = at
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", &refusedError{cause: err, said: string(said)}
	}
	return out, nil
}

// write writes the texts and the table of them, and returns the path of the table.
func (o overlay) write(dir string) (string, error) {
	replace, errs := make(map[string]string), []error(nil)
	for path, text := range o {
		changed := filepath.Join(dir, fmt.Sprintf("changed%d.go", len(replace)))
		replace[path] = changed
		errs = append(errs, os.WriteFile(changed, []byte(text), 0o600))
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	table := filepath.Join(dir, tableName)
	return table, errors.Join(append(errs, err, os.WriteFile(table, b, 0o600))...)
}
