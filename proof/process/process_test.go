package process_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/history"
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

func TestWitness(t *testing.T) {
	t.Parallel()
	w := process.Witness{Path: filepath.Join(t.TempDir(), "a.witness"), Incarnation: 7}
	if got, err := w.Next(); got != nil || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	f := must.Get(os.Create(w.Path))(t)
	defer f.Close()
	for _, step := range []struct {
		text string
		want []history.Kind
	}{
		{`{"event":"start","member":"a","partition":"x","token":3,"at_ns":1}` + "\n" + `{"event":"st`,
			[]history.Kind{history.Started}},
		{``, nil},
		{`op","member":"a","partition":"x","token":3,"at_ns":2}` + "\n", []history.Kind{history.Stopped}},
	} {
		if _, err := f.WriteString(step.text); err != nil {
			t.Fatal(err)
		}
		got, err := w.Next()
		if err != nil || len(got) != len(step.want) {
			t.Fatalf("after %q: %v, %v", step.text, got, err)
		}
		for i, r := range got {
			if r.Kind != step.want[i] || r.Incarnation != 7 || r.Partition != "x" || r.Token != 3 {
				t.Errorf("after %q: %+v", step.text, r)
			}
		}
	}
	if _, err := f.WriteString("no line\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Next(); err == nil {
		t.Error("a line that is no JSON was read")
	}
}
