//go:build unix

package demo

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// A member must not be suspended while it has its turn to write, or is next.
func TestNobodyWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"queue.lock", "turn.lock"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for _, name := range []string{"queue.lock", "turn.lock"} {
		f, err := os.Open(filepath.Join(dir, name))
		must.Succeed(t, err)
		if !nobodyWrites(dir) {
			t.Errorf("somebody writes, before %s is held", name)
		}
		must.Succeed(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		if nobodyWrites(dir) {
			t.Errorf("nobody writes, though %s is held", name)
		}
		f.Close()
	}
}

// TestAMemberHasItsOwnSettings: variables that are set for the demo do not reach its members.
func TestAMemberHasItsOwnSettings(t *testing.T) {
	t.Setenv("ROTA_MEMBER", "z")
	dir := t.TempDir()
	binary, said := filepath.Join(dir, "rota"), filepath.Join(dir, "said")
	must.Succeed(t, os.WriteFile(binary, []byte("#!/bin/sh\nenv\n"), 0o700))
	log := must.Get(os.Create(said))(t)
	m := must.Get((&Play{dir: dir, binary: binary}).startProcess(nil, log))(t)
	<-m.done()
	if got := string(must.Get(os.ReadFile(said))(t)); m.err() != nil || strings.Contains(got, "ROTA_") {
		t.Errorf("%v, its environment is %s", m.err(), got)
	}
}
