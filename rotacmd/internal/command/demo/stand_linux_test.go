package demo

import (
	"os/exec"
	"testing"
	"time"
)

func TestStandsStill(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
		if err := cmd.Process.Signal(sigStop); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); !StandsStill(pid); {
			if time.Now().After(deadline) {
				t.Fatal("it does not stand still")
			}
		}
		if !StandsStill(pid) {
			t.Error("to look at it makes it go on")
		}
		if err := cmd.Process.Signal(sigCont); err != nil {
			t.Fatal(err)
		}
	}
}
