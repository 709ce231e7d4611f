package processtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Main runs the tests of a package with programs that are built once, and returns the exit code. The programs are given as packages; those outside
// of this module are built as its go.mod says. The directory in which they are is set before the tests begin and removed after them.
func Main(m *testing.M, dir *string, packages ...string) int {
	made, err := os.MkdirTemp("", "rota-programs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(made)
	for _, p := range packages {
		if err := build(made, p); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	*dir = made
	return m.Run()
}

// names are those of programs that have another name than their folder.
var names = map[string]string{"github.com/rota-run/rota/proof/demoserver": "rota-demo-server"} // read-only: a table

// build leaves out what only debuggers read.
func build(dir, pkg string) error {
	name := names[pkg]
	if name == "" {
		name = filepath.Base(pkg)
	}
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
