//go:build unix

package localsock_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/rotacmd/internal/localsock"
)

// member answers every path with its name.
func member(t *testing.T, dir, name string, status int) {
	t.Helper()
	l := must.Get(localsock.Listen(dir, name))(t)
	s := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			if _, err := w.Write([]byte(name + r.URL.Path)); err != nil {
				t.Log(err)
			}
		})}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// suspended is a member that takes connections and does not answer.
func suspended(t *testing.T, dir, name string) {
	t.Helper()
	l := must.Get(localsock.Listen(dir, name))(t)
	t.Cleanup(func() { l.Close() })
}

func sockets(t *testing.T, dir string) []string {
	t.Helper()
	all := must.Get(filepath.Glob(filepath.Join(dir, "members", "*")))(t)
	return all
}

// TestAsk: a member answers although others are suspended or refuse.
func TestAsk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := localsock.Ask(t.Context(), dir, "/look"); !errors.Is(err, localsock.ErrNobody) {
		t.Errorf("before anybody was there: %v", err)
	}
	for _, name := range []string{"s1", "s2", "s3"} {
		suspended(t, dir, name)
	}
	member(t, dir, "refuses", http.StatusServiceUnavailable)
	member(t, dir, "a", http.StatusOK)
	for range 5 {
		if got, err := localsock.Ask(t.Context(), dir, "/look"); err != nil || string(got) != "a/look" {
			t.Errorf("answer %q, %v", got, err)
		}
	}
}

// TestNobodyAnswers ends with the context, also where members take connections. A member of another build does not know
// the path.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	member(t, dir, "other", http.StatusNotFound)
	if got, err := localsock.Ask(t.Context(), dir, "/look"); !errors.Is(err, localsock.ErrNobody) {
		t.Errorf("answer %q, %v", got, err)
	}
	suspended(t, dir, "s")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if got, err := localsock.Ask(ctx, dir, "/look"); !errors.Is(err, localsock.ErrNobody) {
		t.Errorf("answer %q, %v", got, err)
	}
}

// TestAnAnswerHasABound refuses what is larger than 4 MiB.
func TestAnAnswerHasABound(t *testing.T) {
	t.Parallel()
	for size, ok := range map[int]bool{4 << 20: true, 4<<20 + 1: false} {
		dir := t.TempDir()
		member(t, dir, strings.Repeat("x", size-len("/")), http.StatusOK)
		got, err := localsock.Ask(t.Context(), dir, "/")
		if ok != (err == nil) || ok && len(got) != size {
			t.Errorf("an answer of %d bytes: %d, %v", size, len(got), err)
		}
	}
}

// TestDeadMembers: a killed process leaves its socket, which must keep nobody from listening.
func TestDeadMembers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	die := func(name string) string {
		t.Helper()
		before := sockets(t, dir)
		suspended(t, dir, name)
		left := sockets(t, dir)
		left = slices.DeleteFunc(left, func(s string) bool { return slices.Contains(before, s) })
		if len(left) != 1 {
			t.Fatalf("sockets %q after %q", left, before)
		}
		kill(t, left[0])
		return left[0]
	}
	own, old, fresh := die("own"), die("old"), die("fresh")
	past := time.Now().Add(-2 * time.Minute)
	note := filepath.Join(filepath.Dir(old), "note.sock") // no socket, so it is somebody's
	must.Succeed(t, errors.Join(os.WriteFile(note, nil, 0o600), os.Chtimes(note, past, past), os.Chtimes(old, past, past)))
	member(t, dir, "own", http.StatusOK)
	got, want := sockets(t, dir), []string{own, fresh, note} // fresh may be about to listen
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("sockets %q, want %q", got, want)
	}
	if got, err := localsock.Ask(t.Context(), dir, "/"); err != nil || string(got) != "own/" {
		t.Errorf("answer %q, %v", got, err)
	}
	if _, err := localsock.Listen(dir, "own"); err == nil {
		t.Error("a second process has taken the socket of one that lives")
	}
}

// kill replaces a socket with one at which nobody listens any more.
func kill(t *testing.T, path string) {
	t.Helper()
	must.Succeed(t, os.Remove(path))
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	must.Succeed(t, l.Close())
}

// TestOnlyTheStoresOwner: where others could put a socket, nobody listens and nobody asks.
func TestOnlyTheStoresOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	member(t, dir, "a", http.StatusOK)
	if info := must.Get(os.Stat(sockets(t, dir)[0]))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %o", info.Mode().Perm())
	}
	within := filepath.Join(dir, "members")
	for mode, ok := range map[os.FileMode]bool{0o700: true, 0o711: false, 0o770: false, 0o777: false} {
		must.Succeed(t, os.Chmod(within, mode))
		if _, err := localsock.Ask(t.Context(), dir, "/"); ok != (err == nil) {
			t.Errorf("mode %o: %v", mode, err)
		}
		if l, err := localsock.Listen(dir, mode.String()); ok != (err == nil) {
			t.Errorf("mode %o: %v", mode, err)
		} else if err == nil {
			l.Close()
		}
	}
	if os.Geteuid() == 0 { // only root can give a directory away
		must.Succeed(t, errors.Join(os.Chmod(within, 0o700), os.Chown(within, 12345, -1)))
		if _, err := localsock.Ask(t.Context(), dir, "/"); !errors.Is(err, localsock.ErrNobody) {
			t.Errorf("somebody else's sockets: %v", err)
		}
	}
	elsewhere := t.TempDir()
	must.Succeed(t, os.Symlink(within, filepath.Join(elsewhere, "members")))
	if _, err := localsock.Ask(t.Context(), elsewhere, "/"); !errors.Is(err, localsock.ErrNobody) {
		t.Errorf("sockets of another directory: %v", err)
	}
}
