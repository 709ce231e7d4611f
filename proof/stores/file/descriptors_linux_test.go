package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// descriptors are this process's open files below dir, with the flags that they were opened with.
func descriptors(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries := must.Get(os.ReadDir("/proc/self/fd"))(t)
	open := map[string]string{}
	for _, entry := range entries {
		path, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name()))
		if err != nil || !strings.HasPrefix(path, dir) {
			continue // closed meanwhile, or of another test
		}
		info, err := os.ReadFile(filepath.Join("/proc/self/fdinfo", entry.Name()))
		if err != nil {
			continue
		}
		open[entry.Name()+" "+strings.TrimPrefix(path, dir)] = string(info)
	}
	return open
}

// A child must inherit no lock, and a closed store must hold no file.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	dir, ctx := place(t), rig.Deadline(t)
	s := must.Get(file.Open(ctx, dir, file.Options{}))(t)
	session := must.Get(s.OpenSession(ctx, time.Minute))(t)
	must.Succeed(t, must.Err(session.Put(ctx, store.Doc{Key: "s/1"})))
	must.Succeed(t, must.Err(s.Watch(ctx, "s/")))
	for range 2 {
		must.Succeed(t, must.Err(s.Append(ctx, make([]byte, 10))))
	}
	if got := records(t, s); len(got) != 2 {
		t.Fatalf("records %q", got)
	}
	open := descriptors(t, dir)
	if len(open) < 8 {
		t.Fatalf("an open store holds %d files, want some: %v", len(open), open)
	}
	for name, info := range open {
		if !strings.Contains(info, "flags:\t02") && !strings.Contains(info, "flags:\t12") {
			t.Errorf("%s is not close-on-exec: %s", name, info)
		}
	}
	must.Succeed(t, s.Close())
	if left := descriptors(t, dir); len(left) != 0 {
		t.Errorf("a closed store holds %v", left)
	}
}
