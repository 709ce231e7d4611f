package file

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// A store that is well logs no warning, and leaves no file open when it is closed.
func TestAQuietLife(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx := deadline(t)
	s, err := Open(ctx, place(t),
		Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	must.Succeed(t, err)
	_, putErr := s.Put(ctx, store.Doc{Key: "a/b"})
	_, appendErr := s.Append(ctx, []byte("x"))
	must.Succeed(t, errors.Join(putErr, appendErr, s.Close()))
	if log.Len() != 0 {
		t.Errorf("a store that is well warns: %s", log.String())
	}
	if a, b := s.bell.file.Close(), s.bell.beats.Close(); !errors.Is(a, os.ErrClosed) || !errors.Is(b, os.ErrClosed) {
		t.Errorf("the bell is open after the store was closed: %v, %v", a, b)
	}
}

// A directory that cannot be made durable is an error.
func TestSyncOfADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syncDir(dir); err != nil {
		t.Error(err)
	}
	if err := syncDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
