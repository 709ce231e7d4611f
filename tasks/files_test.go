package tasks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

// Paths that match nothing are told, but a part may well have no file.
func TestLinesOfNoFile(t *testing.T) {
	t.Parallel()
	r := &linesRunner{places: []tailPlace{{root: t.TempDir(), steps: []string{"*.txt"}}}}
	for _, c := range []struct {
		index, count int64
		ends         bool
	}{{0, 1, false}, {0, 2, true}, {1, 2, true}} {
		_, end, err := r.read(t.Context(), &work.Grant{Index: c.index, Count: c.count}, nil, nil)
		if end != c.ends || (err == nil) != c.ends {
			t.Errorf("part %d of %d: end %t, error %v", c.index, c.count, end, err)
		}
	}
	if _, _, err := r.read(t.Context(), &work.Grant{Count: 2}, []byte("{"), nil); err == nil {
		t.Error("it goes on from a position that it cannot read")
	}
}

// A read holds a bounded number of bytes, however long the lines are.
func TestLongLinesAreReadBitByBit(t *testing.T) {
	t.Parallel()
	dir, line := t.TempDir(), strings.Repeat("x", 200<<10)+"\n"
	write(t, filepath.Join(dir, "a"), line+line+line)
	at := int64(0)
	full, err := (&linesRunner{}).readLines(tailFound{root: dir, rel: "a"}, &at, &stage.Out{})
	if err != nil || !full || at != int64(2*len(line)) {
		t.Errorf("full %t at byte %d, %v; want two of the lines", full, at, err)
	}
}

// A member may allow the whole disk. What a crash has left of a file that was on its way is not in the next one.
func TestFilesThatAreWritten(t *testing.T) {
	t.Parallel()
	var f faults
	if root, rel := (Options{WriteAllow: []string{"/"}}).writable("/var/out", &f); root != "/" || rel != "var/out" ||
		f.err() != nil {
		t.Errorf("%q in %q, %v", rel, root, f.err())
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".a.3.b"), "a longer one of a run that has died")
	must.Succeed(t, filesWriter{dir, "."}.put(&work.Grant{Key: "a", Token: 3}, "b", []byte("new")))
	if got := must.Get(os.ReadFile(filepath.Join(dir, "b")))(t); string(got) != "new" {
		t.Errorf("the file has %q", got)
	}
	sealed := filesWriter{filepath.Join(dir, "none"), "."}.seal(t.Context(), &work.Grant{})
	if synced := syncDir(must.Get(os.OpenRoot(dir))(t), "none"); sealed == nil || synced == nil {
		t.Error("a directory that is not there is sealed, or on the disk:", sealed, synced)
	}
}
