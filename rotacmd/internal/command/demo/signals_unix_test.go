//go:build unix

package demo

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A member must not be suspended while it has its turn to write, or is next.
func TestNobodyWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"queue.lock", "turn.lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"queue.lock", "turn.lock"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !nobodyWrites(dir) {
			t.Errorf("somebody writes, before %s is held", name)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if nobodyWrites(dir) {
			t.Errorf("nobody writes, though %s is held", name)
		}
		f.Close()
	}
}
