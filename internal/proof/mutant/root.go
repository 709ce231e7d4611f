package mutant

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// modulePath is the module that flaws are put into.
const modulePath = "github.com/rota-run/rota"

// Root is the directory of Rota's module: the nearest directory above the working directory, or itself, whose go.mod names it. Modules in
// folders of their own, such as proof, are passed by.
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
