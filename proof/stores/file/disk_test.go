package file_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: no small disk to be had: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	dir := filepath.Join(disk, "store")
	s := openIn(t, dir, file.Options{})
	ballast := filepath.Join(disk, "ballast")
	must.Succeed(t, os.WriteFile(ballast, make([]byte, 600<<10), 0o600))
	acknowledged, err := uint64(0), error(nil)
	for index := uint64(0); err == nil; index, err = s.Append(rig.Deadline(t), make([]byte, 3000)) {
		acknowledged = index
	}
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Fatalf("append on a full disk: %v, want unavailable and not unknown", err)
	}
	if got := records(t, s); uint64(len(got)) != acknowledged {
		t.Fatalf("%d records on a full disk, want the %d acknowledged ones", len(got), acknowledged)
	}
	if _, err := s.Put(rig.Deadline(t), store.Doc{Key: "a", Value: make([]byte, 1<<20)}); !errors.Is(err,
		store.ErrUnavailable) {
		t.Fatalf("put on a full disk: %v, want unavailable", err)
	}
	must.Succeed(t, os.Remove(ballast))
	if index, err := s.Append(rig.Deadline(t), nil); err != nil || index != acknowledged+1 {
		t.Fatalf("append when there is room again: index %d, %v; want %d", index, err, acknowledged+1)
	}
	if verdict := query[string](t, dir, "PRAGMA integrity_check"); verdict != "ok" {
		t.Errorf("integrity check: %q", verdict)
	}
}
