package demo

import (
	"os/exec"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

func TestStandsStill(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1000")
	must.Succeed(t, cmd.Start())
	pid := cmd.Process.Pid
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if StandsStill(pid) {
			t.Error("it has ended, and stands still")
		}
	}()
	for range 3 {
		if StandsStill(pid) {
			t.Fatal("it stands still, before it was told to")
		}
		must.Succeed(t, cmd.Process.Signal(sigStop))
		for deadline := time.Now().Add(time.Minute); !StandsStill(pid); {
			if time.Now().After(deadline) {
				t.Fatal("it does not stand still")
			}
		}
		if !StandsStill(pid) {
			t.Error("to look at it makes it go on")
		}
		must.Succeed(t, cmd.Process.Signal(sigCont))
	}
}
