package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/file"
)

// killedStore is a directory in which somebody was killed after ten acknowledged records.
func killedStore(t *testing.T) string {
	t.Helper()
	dir := place(t)
	closed(t, dir) // the tables are in the database itself, the records in the journal
	p := start(t, "append ten", dir)
	if text, ok := p.Line(); !ok || text != "10" {
		t.Fatalf("the helper said %q", text)
	}
	p.Kill()
	return dir
}

func TestALostTailIsNoticed(t *testing.T) {
	t.Parallel()
	journal := func(dir string) string { return filepath.Join(dir, dbName+"-wal") }
	for _, c := range []struct {
		name string
		harm func(dir string) error
	}{
		{"half of the journal", func(dir string) error {
			info, err := os.Stat(journal(dir))
			if err != nil {
				return err
			}
			return os.Truncate(journal(dir), info.Size()/2)
		}},
		{"its last transaction", func(dir string) error {
			info, err := os.Stat(journal(dir))
			if err != nil {
				return err
			}
			return os.Truncate(journal(dir), info.Size()-1)
		}},
		{"all of it", func(dir string) error { return os.Remove(journal(dir)) }},
		{"all of it, and nothing was in the database yet", func(dir string) error {
			return errors.Join(os.Remove(journal(dir)), os.Truncate(filepath.Join(dir, dbName), 0))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := killedStore(t)
			must.Succeed(t, c.harm(dir))
			for _, o := range []file.Options{{ReadOnly: true}, {}, {ReadOnly: true}} { // who only looks comes first, and finds nothing mended
				s, err := file.Open(rig.Deadline(t), dir, o)
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, file.ErrDamaged) || !strings.Contains(err.Error(), "10 was acknowledged") {
					t.Errorf("open, read only %v: %v; want damaged, and how far it reached", o.ReadOnly, err)
				}
			}
			must.Succeed(t, os.Remove(filepath.Join(dir, bellName)))
			s := openIn(t, dir, file.Options{})
			if index, err := s.Append(rig.Deadline(t), nil); err != nil || index > 10 {
				t.Errorf("append to what is left: index %d, %v", index, err)
			}
		})
	}
}
