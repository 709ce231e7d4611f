package cli_test

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process/processtest"
)

// TestHangup: a service manager asks a member to open its files again. It goes on, and no sample is lost.
func TestHangup(t *testing.T) {
	// Where this test itself runs below nohup, its children would ignore the signal as well. What is caught is not inherited.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	p := newPlace(t)
	p.task("t.yaml", "type: noop\nevery: 100ms\nconfig: {emit: true}\n")
	m := p.start("a", "tasks", "--publish", "file:samples")
	has := func(name string) func() bool {
		return func() bool {
			b, err := os.ReadFile(filepath.Join(p.dir, name))
			return err == nil && len(b) > 0
		}
	}
	await(t, "samples are written", has("samples"))
	must.Succeed(t, os.Rename(filepath.Join(p.dir, "samples"), filepath.Join(p.dir, "samples.1")))
	m.signal(syscall.SIGHUP)
	await(t, "samples go to a new file", has("samples"))
	await(t, "it says so", func() bool { return strings.Contains(m.Stderr.String(), "reloaded: samples in samples") })
	m.signal(syscall.SIGTERM)
	if code := m.end(); code != exitOK {
		t.Errorf("exit %d: %s", code, m.Stderr.String())
	}
}

// TestTheReaderGoesAway: rota run | head leaves gracefully when head has seen enough.
func TestTheReaderGoesAway(t *testing.T) {
	p := newPlace(t)
	p.task("t.yaml", "type: noop\nevery: 50ms\nconfig: {emit: true}\n")
	read, write, err := os.Pipe()
	must.Succeed(t, err)
	cmd := p.command("run", "--store", p.store, "--member", "a", "--listen", "none", "--ttl", "30s", "tasks")
	cmd.Stdout = write
	m := &running{p, processtest.Start(p.t, "a", cmd)}
	must.Succeed(t, write.Close())
	must.Succeed(t, must.Err(io.ReadFull(read, make([]byte, 10))))
	must.Succeed(t, read.Close())
	if code := m.end(); code != exitOK || !strings.Contains(m.Stderr.String(), "a left gracefully") {
		t.Errorf("exit %d: %s", code, m.Stderr.String())
	}
}
