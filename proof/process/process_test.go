package process_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process"
)

func TestStart(t *testing.T) {
	t.Parallel()
	p := must.Get(process.Start(exec.Command("sh", "-c", "echo out; echo err >&2; exit 3")))(t)
	code, err := p.Wait(deadline(t))
	if err != nil || code != 3 || !p.Ended() || p.Err() == nil {
		t.Errorf("code %d, %v; it ended: %t, with %v", code, err, p.Ended(), p.Err())
	}
	if p.Stdout.String() != "out\n" || p.Stderr.String() != "err\n" {
		t.Errorf("it wrote %q and %q", p.Stdout.String(), p.Stderr.String())
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal to a process that has ended: %v", err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("kill a process that has ended: %v", err)
	}
	if _, err := process.Start(exec.Command("/no/such/program")); err == nil ||
		!strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("a program that does not exist: %v", err)
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	p := must.Get(process.Start(exec.Command("sleep", "600")))(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(over); !errors.Is(err, context.Canceled) || p.Ended() || p.Err() != nil {
		t.Errorf("a process that runs: %v, it ended: %t, with %v", err, p.Ended(), p.Err())
	}
	must.Succeed(t, p.Kill())
	if code, err := p.Wait(deadline(t)); err != nil || code != -1 || p.Err() == nil {
		t.Errorf("code %d, %v, ended with %v", code, err, p.Err())
	}
}
