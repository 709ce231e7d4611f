package quickstart_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/tasks"
)

// TestFilesAreSound parses each file, also those of examples/checks, as a member without further options would.
func TestFilesAreSound(t *testing.T) {
	t.Parallel()
	types, read := tasks.Builtin(tasks.Options{}), 0
	files, err := fs.Glob(os.DirFS(".."), "[cq]*/tasks/*")
	for _, file := range files {
		data, readErr := os.ReadFile(filepath.Join("..", file))
		_, _, parseErr := source.Parse(file, data, types)
		if err := errors.Join(readErr, parseErr); err != nil {
			t.Error(err)
		}
		read++
	}
	if err != nil || read < 13 {
		t.Errorf("%d files read: %v", read, err)
	}
}
