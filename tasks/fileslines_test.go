package tasks

import (
	"testing"

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
}
