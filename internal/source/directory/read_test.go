package directory

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestATornReadIsNoticed: a file that was written while it was read is read again, also where it has as many bytes as before.
func TestATornReadIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.yaml")
	look := func(text string, at time.Time) os.FileInfo {
		t.Helper()
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		must.Succeed(t, os.Chtimes(path, at, at))
		info, err := os.Stat(path)
		must.Succeed(t, err)
		return info
	}
	at := time.UnixMilli(1795190400000)
	was := look("type: noop", at)
	for name, c := range map[string]struct {
		after os.FileInfo
		n     int
		want  bool
	}{
		"the same":                {look("type: noop", at), 10, true},
		"other text, same size":   {look("type: http", at.Add(time.Millisecond)), 10, false},
		"longer":                  {look("type: noop\n", at), 10, false},
		"read less than it has":   {look("type: noop", at), 9, false},
		"read more than it has":   {look("type: noop", at), 11, false},
		"older, as from a backup": {look("type: noop", at.Add(-time.Hour)), 10, false},
	} {
		if got := unchanged(was, c.after, c.n); got != c.want {
			t.Errorf("%s: unchanged %v, want %v", name, got, c.want)
		}
	}
}
