package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/cmd/rotachaos/internal/chaos"
)

// TestChaos plays a short deck. It needs neither root nor tools: what they are needed for is left out, and said.
func TestChaos(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	dir := filepath.Join(t.TempDir(), "play")
	code := run(t.Context(), []string{"--events", "15", "--seed", "3", "--ttl", "1s", "--dir", dir, "--json"}, &stdout, &stderr)
	var r chaos.Report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout.String(), stderr.String())
	}
	if code != 0 || !r.OK || r.Events != 15 || r.Overlaps != 0 || r.Acts == 0 || r.Moves == 0 {
		t.Fatalf("exit %d, %+v\n%s", code, r, stderr.String())
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory of a good play was not removed")
	}
	t.Log(stderr.String())
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--events", "many"}, {"--store", "etcd"}, {"now"}, {"--help"}} {
		var stderr bytes.Buffer
		if code := run(t.Context(), args, &stderr, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit %d, %q", args, code, stderr.String())
		}
	}
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"--binary", "x", "--only", "earthquake"}, &stderr, &stderr); code != 1 || !strings.Contains(stderr.String(), "earthquake") {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
}
