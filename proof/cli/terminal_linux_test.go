package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/proof/must"
)

// terminal is a real terminal: who starts in it has it as the controlling one.
func terminal(t *testing.T) (screen, keyboard *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	must.Succeed(t, err)
	fd := int(screen.Fd())
	must.Succeed(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n := must.Get(unix.IoctlGetInt(fd, unix.TIOCGPTN))(t)
	keyboard = must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	return screen, keyboard
}

// Whoever closes the terminal of a member makes it leave gracefully: its task goes to the other one at once, and the
// journal says that it left, not that it died.
func TestAClosedTerminal(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // under nohup it is ignored, as it would be by what is started here
	defer signal.Stop(heard)
	p := newPlace(t)
	p.noops(2)
	p.start("b", "tasks")
	screen, keyboard := terminal(t)
	args := []string{"run", "--store", p.store, "--member", "a", "--listen", "none", "--publish", "none", "--ttl",
		"30s", "tasks"}
	cmd := exec.Command(filepath.Join(programs, "rota"), args...)
	cmd.Dir = p.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = keyboard, keyboard, keyboard
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	must.Succeed(t, keyboard.Close())
	p.awaitShares(2, "a:1 b:1")
	must.Succeed(t, screen.Close())
	if err := cmd.Wait(); err != nil {
		t.Errorf("the member ended with %v", err)
	}
	p.awaitShares(2, "b:2")
	out, _, _ := p.rota("events", "--store", p.store)
	if !strings.Contains(out, "a is draining") || strings.Contains(out, "heartbeat is gone") {
		t.Errorf("journal:\n%s", out)
	}
}
