package quickstart_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/tasks"
)

// TestFilesAreSound parses each file as a member without further options would.
func TestFilesAreSound(t *testing.T) {
	t.Parallel()
	types, read := tasks.Builtin(tasks.Options{}), 0
	err := fs.WalkDir(os.DirFS("."), "tasks", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		read++
		if _, _, err := source.Parse(file, data, types); err != nil {
			t.Error(err)
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Errorf("%d files read: %v", read, err)
	}
}
