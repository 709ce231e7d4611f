package mutant

import (
	"bufio"
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

// compile builds a package of the module at root, or a folder below it, and returns the path of the program, which is
// in dir.
func (o overlay) compile(ctx context.Context, root, dir, pkg string, how []string) (string, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	table, err := o.write(dir)
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, filepath.Base(filepath.Join(root, filepath.FromSlash(pkg)))) // the root has a name, too
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

// modulePath is the module that flaws are put into.
const modulePath = "github.com/rota-run/rota"

// Root is the directory of Rota's module: the nearest directory above the working directory, or itself, whose go.mod
// names it. Modules in folders of their own, such as proof, are passed by.
func Root(context.Context) (string, error) {
	from, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return rootAbove(from)
}

func rootAbove(from string) (string, error) {
	for dir := from; ; dir = filepath.Dir(dir) {
		name, err := moduleOf(filepath.Join(dir, "go.mod"))
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("find the module: %w", err)
		case name == modulePath:
			return dir, nil
		case dir == filepath.Dir(dir):
			return "", fmt.Errorf("%s is not inside the module %s: run this in its source", from, modulePath)
		}
	}
}

// moduleOf is the path that the module line of a go.mod file gives.
func moduleOf(file string) (string, error) {
	f, err := os.Open(file) //nolint:gosec // a go.mod file
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", lines.Err()
}
