package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// A download is in the queue of its process and committed, and is outstanding no more; one that is cut off is none of
// that.
func TestDownloadIsCommitted(t *testing.T) {
	t.Parallel()
	b := bucket{in: t.TempDir(), out: t.TempDir()}
	for _, name := range []string{"a", "b"} {
		must.Succeed(t, os.WriteFile(filepath.Join(b.in, name), []byte("text of "+name), 0o600))
	}
	q, err := openQueue(b.out, "me")
	must.Succeed(t, err)
	defer q.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	slow := b
	slow.pause = 1 << 40
	if _, err := slow.fetch(over, q, "b"); err == nil {
		t.Error("a download that was cut off is done")
	}
	n, err := b.fetch(t.Context(), q, "a")
	if err != nil || n != len("text of a") {
		t.Errorf("%d bytes, %v", n, err)
	}
	left, err := b.outstanding()
	if err != nil || !slices.Equal(left, []string{"b"}) {
		t.Errorf("outstanding %q, %v", left, err)
	}
	text, err := os.ReadFile(filepath.Join(b.out, "me.queue"))
	want := `{"verb":"begin","file":"b"}
{"verb":"begin","file":"a"}
{"verb":"event","file":"a","data":"dGV4dCBvZiBh"}
`
	if err != nil || string(text) != want {
		t.Errorf("the queue has %s, %v", text, err)
	}
}
