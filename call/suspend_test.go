package call_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// suspend stops a process while it does not write: nobody can while a suspended process has the turn.
func suspend(t *testing.T, dir string, p *process) {
	t.Helper()
	await(t, "the member stands still, and not in the middle of a write", func() bool {
		p.signal(syscall.SIGSTOP)
		if unlocked(t, dir, "queue.lock") && unlocked(t, dir, "turn.lock") {
			return true
		}
		p.signal(syscall.SIGCONT)
		return false
	})
}

func unlocked(t *testing.T, dir, name string) bool {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// judge looks at what the runs of one call have written, in its order: a token that is smaller than one before it comes from a run that overlaps. A process may be
// suspended between its look at ctx and its write, so each suspension may leave one such line.
func judge(t *testing.T, beats []string, suspensions int) {
	t.Helper()
	newest, stale := uint64(0), 0
	for _, b := range beats {
		token, err := strconv.ParseUint(strings.Fields(b)[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if token < newest {
			stale++
		}
		newest = max(newest, token)
	}
	if stale > suspensions {
		t.Errorf("%d of %d lines are of a run that was replaced, after %d suspensions", stale, len(beats), suspensions)
	}
	if newest < uint64(suspensions)+1 {
		t.Errorf("the newest token is %d", newest)
	}
	t.Logf("%d lines, %d stale, newest token %d", len(beats), stale, newest)
}

func pidText(n int) string { return strconv.Itoa(n) }
