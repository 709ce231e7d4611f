package directory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/source"
)

func TestHugeFileIsNotRead(t *testing.T) {
	t.Parallel()
	largest := good + "#" + strings.Repeat("x", source.MaxFile-len(good)-1)
	dir := tree(t, map[string]string{"a.yaml": good, "b.yaml": largest})
	f := must.Get(os.Create(filepath.Join(dir, "huge.yaml")))(t)
	must.Succeed(t, errors.Join(f.Truncate(1<<30), f.Close()))
	var before, after syscall.Rusage
	must.Succeed(t, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	s := ScanDirs([]string{dir}, "s", types())
	must.Succeed(t, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	want := "a D/a.yaml s\nb D/b.yaml s\n! D/huge.yaml: 1073741824 bytes; a definition has at most 1048576 (if it holds tasks, split it into files of one task each; if it is no definition, move it out of the directory)\nblocked [huge]"
	if got := describe(dir, s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if grown := after.Maxrss - before.Maxrss; grown > 500<<10 {
		t.Errorf("the process grew by %d KiB: the file was read", grown)
	}
}

func TestPipeIsNotOpened(t *testing.T) {
	t.Parallel()
	dir := tree(t, nil)
	must.Succeed(t, syscall.Mkfifo(filepath.Join(dir, "a.yaml"), 0o600))
	s := ScanDirs([]string{dir}, "s", types()) // opening it for reading would wait for a writer for ever
	const want = "! D/a.yaml: it is not a regular file (put a file in its place, or remove it)\nblocked [a]"
	if got := describe(dir, s); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
