package localsock_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/rotacmd/internal/localsock"
)

// TestLongPaths: the address of a socket has 107 bytes, and a directory may have a longer path.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 200))
	must.Succeed(t, os.Mkdir(dir, 0o700))
	member(t, dir, strings.Repeat("m", 100), http.StatusOK)
	if _, err := localsock.Ask(t.Context(), dir, "/"); err != nil {
		t.Error(err)
	}
}

// TestAListenerThatEnds: it leaves no descriptor of the directory.
func TestAListenerThatEnds(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Succeed(t, must.Get(localsock.Listen(dir, "a"))(t).Close())
	for _, fd := range must.Get(filepath.Glob("/proc/self/fd/*"))(t) {
		if path, _ := os.Readlink(fd); strings.HasPrefix(path, dir) { // it may have been closed meanwhile
			t.Errorf("%s is open", path)
		}
	}
}
