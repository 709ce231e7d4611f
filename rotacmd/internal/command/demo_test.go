package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/rotacmd/internal/command/demo"
)

// interrupter is a terminal whose user types ctrl-c when something was said.
type interrupter struct {
	output.Text
	at  string
	end context.CancelCauseFunc
}

var errCtrlC = errors.New("ctrl-c")

func (i *interrupter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), i.at) {
		i.end(errCtrlC)
	}
	return i.Text.Write(b)
}

// A demonstration inside this process that is interrupted ends its members in order, also the one that stands still,
// and leaves nothing running. It has the process for itself, so that what is left is its own.
func TestAnInterruptedDemoInMemory(t *testing.T) {
	others := goleak.IgnoreCurrent()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("ROTA_TTL", "not for members of a demonstration")
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	screen := &interrupter{at: "c suspended", end: end}
	e := env{stdin: strings.NewReader(""), stdout: screen, stderr: screen, getenv: os.Getenv}
	stage := must.Get(newStage(ctx, e, "memory:"))(t)
	if err := runDemo(ctx, e, stage, demo.Options{Protocol: protocols()[0]}, 1, false); !errors.Is(err, errCtrlC) {
		t.Errorf("it ended with %v", err)
	}
	if err := stage.stop(); err != nil {
		t.Error(err)
	}
	if err := goleak.Find(others); err != nil { // it looks several times
		t.Error(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "rota-demo-*", "*.log"))
	if err != nil || len(logs) != 3 {
		t.Fatalf("logs of members: %v, %v; it said\n%s", logs, err, screen.String())
	}
	for _, log := range logs {
		name := strings.TrimSuffix(filepath.Base(log), ".log")
		b, err := os.ReadFile(log)
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(b)), name+" left gracefully") {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
	}
}

// rota links no server. Where the program that runs one is missing, the demonstration says what it is and how to get
// it, and leaves nothing.
func TestDemoWithoutTheProgramForServers(t *testing.T) {
	p := newPlace(t)
	t.Setenv("PATH", p.dir)
	t.Setenv("TMPDIR", p.dir)
	for _, c := range []struct {
		kind, named, want string
	}{
		{"etcd", "", demoServer}, {"nats", "", demoServer}, {"etcd", "./no/such/program", "no/such/program"},
	} {
		out, errs, code := with(map[string]string{serverVariable: c.named}, "", "demo", "--store", c.kind+":")
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if code != exitFailed || out != "" || len(lines) != 2 || !strings.Contains(lines[0], c.want) {
			t.Errorf("%s with %q: exit %d\n%s%s", c.kind, c.named, code, out, errs)
		}
		if try := lines[len(lines)-1]; !containsAll(try,
			[]string{"try: go build", "./demoserver", "--store " + c.kind + "://"}) {
			t.Errorf("%s with %q: it says %q", c.kind, c.named, try)
		}
	}
	left, err := os.ReadDir(p.dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left besides the folder of tasks: %v, %v", left, err)
	}
}

// TestWhereADemoIsPlayed: beside the place of the cluster, each round at another one.
func TestWhereADemoIsPlayed(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string][2]string{
		"etcd://h/x":                     {"etcd://h/x-demo-"},
		"nats://h/?token=env:T":          {"nats://h/rota-demo-", "?token=env:T"},
		"postgres://h":                   {"postgres://h/rota/rota-demo-"},
		"postgres://h/a?schema=b&user=u": {"postgres://h/a/b-demo-", "?user=u"},
		"file:x":                         {"file:" + must.Get(os.Getwd())(t) + "/x/demo-"},
	} {
		s := &stage{}
		if strings.HasPrefix(text, "file:") {
			s = must.Get(newStage(t.Context(), env{}, text))(t)
		} else {
			s.onServer(text)
		}
		first, second := s.next().Store, s.next().Store
		if !strings.HasPrefix(first, want[0]) || !strings.HasSuffix(first, "-1"+want[1]) ||
			!strings.HasSuffix(second, "-2"+want[1]) {
			t.Errorf("%s is played at %s and %s", text, first, second)
		}
	}
}
