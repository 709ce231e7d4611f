package calls_test

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	processes "github.com/rota-run/rota/proof/process"
)

// suspend stops a process while it does not write: nobody can while a suspended process has the turn.
func suspend(t *testing.T, dir string, p *process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must.Succeed(t, processes.StopOutside(ctx, p.cmd.Process.Pid, filepath.Join(dir, "queue.lock"),
		filepath.Join(dir, "turn.lock")))
}

// judge looks at what the runs of one call have written, in its order: a token that is smaller than one before it comes
// from a run that overlaps. A process may be suspended between its look at ctx and its write, so each suspension may
// leave one such line.
func judge(t *testing.T, beats []string, suspensions int) {
	t.Helper()
	newest, stale := uint64(0), 0
	for _, b := range beats {
		token := must.Get(strconv.ParseUint(strings.Fields(b)[0], 10, 64))(t)
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
