package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process/processtest"
)

// A binary of one's own runs its own task type, from its own files, over its own store, into its own sink, and shows
// it.
func TestWeather(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	weather := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(programs, "weather"), append(args, "--store", "team:blue")...)
		cmd.Dir = dir
		return cmd
	}
	p := processtest.Start(t, "weather", weather("run", "--member", "web-1", "--publish", "archive:samples.jsonl",
		"--listen", "none"))
	processtest.Await(t, "a sample of the station", func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "samples.jsonl"))
		return err == nil && strings.Contains(string(b),
			`"name":"station.degrees","tags":{"member":"web-1","task":"home"}`)
	})
	out, err := weather("task", "list").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "station") {
		t.Errorf("weather task list: %v\n%s", err, out)
	}
	must.Succeed(t, p.Signal(os.Interrupt))
	<-p.Done()
	if err := p.Err(); err != nil {
		t.Errorf("weather run: %v", err)
	}
}
