//go:build linux

package tasks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// TestCommandEnds: code 0 is the end of the task, anything else a failure that says what the program said.
func TestCommandEnds(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"exit 0": "",
		"echo '{\"name\":\"rows\",\"points\":[[1700000000123,4]]}'": "",
		"echo no room >&2; exit 3":                                  "the program ended with code 3: no room",
		"kill -9 $$":                                                "the program was ended by signal SIGKILL",
		"trap '' TERM; sleep 1000":                                  "the program did not end in time and was stopped",
	} {
		d := define(t, object{"argv": []string{"/bin/sh", "-c", script}, "grace": "50ms"})
		g, h := worktest.NewGrant(t, d)
		ctx, stop := t.Context(), func() {}
		if strings.Contains(script, "sleep") { // the supervisor ends ctx so after Definition.TimeoutMS
			ctx, stop = context.WithTimeout(ctx, 300*time.Millisecond)
		}
		err := worktest.RunContext(ctx, t, Builtin(shell)["command"], g)
		stop()
		if got := errorText(err); got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
		if strings.Contains(script, "rows") && h.LastValue(t, "rows") != 4 {
			t.Errorf("%s: its sample is %v", script, h.Last(t, "rows"))
		}
		if strings.HasPrefix(script, "exit") && h.LastValue(t, "command.exit_code") != 0 {
			t.Error("no code")
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestCommandIsToldItsGrant: by its environment, which a definition cannot change.
func TestCommandIsToldItsGrant(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "env")
	d := define(t, object{"argv": []string{"/bin/sh", "-c", "env > " + out},
		"env": object{"ROTA_JOB": "another", "WORDS": "7"}})
	g, _ := worktest.NewGrant(t, d)
	g.Job, g.Task, g.Key, g.Member, g.Token, g.Attempt = "etl", "load", "a:2", "a", 42, 3
	g.Index, g.Count = 0, 4
	must.Succeed(t, worktest.Run(t, Builtin(shell)["command"], g))
	b := must.Get(os.ReadFile(out))(t)
	for _, want := range []string{"ROTA_JOB=etl\n", "ROTA_TASK=load\n", "ROTA_KEY=a:2\n", "ROTA_MEMBER=a\n",
		"ROTA_TOKEN=42\n", "ROTA_ATTEMPT=3\n", "WORDS=7\n", "ROTA_INDEX=0\n", "ROTA_COUNT=4\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the program saw no %q in %q", want, b)
		}
	}
}

// TestAProgramThatIsStopped is no success, and leaves nothing running.
func TestAProgramThatIsStopped(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"command", "exec"} {
		pipe := fifo(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		d := define(t, sh("trap 'exit 0' TERM; sleep 1000 & echo $! > "+pipe+"; wait"))
		d.TimeoutMS = 60_000
		g, h := worktest.NewGrant(t, d)
		ended := make(chan error, 1)
		go func() { ended <- worktest.RunContext(ctx, t, Builtin(shell)[typ], g) }()
		pid := pidIn(t, pipe)
		cancel(work.CauseMoved)
		if err := <-ended; !errors.Is(err, work.CauseMoved) {
			t.Errorf("%s ended with %v, want %v", typ, err, work.CauseMoved)
		}
		wantGone(t, pid)
		if got := h.Samples(); len(got) > 0 {
			t.Errorf("%s emitted %v, though its run does not count", typ, got)
		}
	}
}
