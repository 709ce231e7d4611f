package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/proof/chaos/internal/chaos"
	"github.com/rota-run/rota/proof/chaos/internal/powercut"
	"github.com/rota-run/rota/proof/server"
)

// TestMain lets the test binary be a process that writes: the program starts itself as one.
func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	if len(os.Args) > 1 && os.Args[1] == writerCommand {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestPowercut(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"powercut", "--cuts", "4", "--dir", filepath.Join(t.TempDir(), "disks"),
		"--json"}, &stdout, &stderr)
	var r powercut.Report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout.String(), stderr.String())
	}
	if !r.Possible {
		if code != 0 || r.OK || !strings.Contains(stderr.String(), "NOTHING WAS SHOWN") {
			t.Errorf("exit %d, ok %v, said: %s", code, r.OK, stderr.String())
		}
		t.Skipf("SKIP: no power can be cut here: %q", r.NotDone)
	}
	if code != 0 || !r.OK || r.Cuts != 4 || r.Acked == 0 || r.Control.Cuts > 0 && r.Control.Lost == 0 {
		t.Errorf("exit %d, %+v\n%s", code, r, stderr.String())
	}
}

// TestChaos plays a short deck. It needs neither root nor tools: what they are needed for is left out, and said.
func TestChaos(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	dir := filepath.Join(t.TempDir(), "play")
	code := run(t.Context(), []string{"--events", "15", "--seed", "3", "--ttl", "2s", "--dir", dir, "--json"}, &stdout,
		&stderr)
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

// TestKills kills twice each way. How long it takes is the machine's: that tasks moved, and were timed, is ours.
func TestKills(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"kills", "--times", "2", "--ttl", "1s", "--json"}, &stdout, &stderr)
	var r chaos.Kills
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout.String(), stderr.String())
	}
	if r.Store != "file" || len(r.Rows) != 2 {
		t.Fatalf("%+v\n%s", r, stderr.String())
	}
	for _, row := range r.Rows {
		if len(row.TimesMS) != 2 || row.Moved == 0 || row.TimesMS[0] <= 0 || row.MostMS < row.MedianMS {
			t.Errorf("%+v\n%s", row, stderr.String())
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--events", "many"}, {"--store", "nosuch"}, {"now"}, {"--help"},
		{"powercut", "now"}, {"powercut", "--help"}, {"mutants", "now"}, {"kills", "now"}, {"kills", "--times", "0"},
		{writerCommand}} {
		var stderr bytes.Buffer
		if code := run(t.Context(), args, &stderr, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit %d, %q", args, code, stderr.String())
		}
	}
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"--binary", "x", "--only", "earthquake"}, &stderr, &stderr); code != 1 ||
		!strings.Contains(stderr.String(), "earthquake") {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
}
