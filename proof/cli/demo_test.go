package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/server/postgres"
)

// outcome is what a demonstration prints as JSON, without the times.
type outcome struct {
	Members     int `json:"members"`
	Tasks       int `json:"tasks"`
	Moves       int `json:"moves"`
	FewestMoves int `json:"fewest_moves"`
	Overlaps    int `json:"overlaps"`
	Lost        int `json:"lost"`
}

// The stage demo plays it on a directory, with the bounds of time. A directory is that of who plays it, not of the
// members.
func TestDemoByClaims(t *testing.T) { newPlace(t).demo("--store", "file:here", "--protocol", "lease") }

// Members inside one process keep the same promises; what stands for a suspension is stricter there, as their tasks go
// on. The settings of who plays it are not theirs. With heartbeats alone each round has a store of its own.
func TestDemoInMemory(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--store memory:", "--store memory: --no-sessions --rounds 2"} {
		t.Run(args, func(t *testing.T) {
			p := newPlace(t)
			p.write("rota.yaml", "ttl: nonsense\n")
			p.demo(strings.Fields(args)...)
		})
	}
}

// starved is for how long members in one process may stand still together and keep their promises all the same: less
// than is between the instant at which a suspended one must stop its tasks and the one at which others start them.
const starved = 300 * time.Millisecond

// demo plays the demonstration and looks at its outcome. Where the machine stood still that says nothing, and it is
// played again.
func (p *place) demo(args ...string) {
	p.t.Helper()
	for tries := 1; ; tries++ {
		w := process.WatchStalls()
		r, stderr := p.play(args...)
		w.Close()
		p.t.Log(r) // its bounds of time are for a machine that does nothing else; here those without a clock count
		switch good := r.Tasks == 12 && r.Members == 3 && r.Overlaps == 0 && r.Lost == 0 && r.Moves == r.FewestMoves &&
			r.Moves > 0; {
		case good:
			return
		case w.Longest() < starved || tries == 5:
			p.t.Fatalf("got %+v; the machine stood still for %v at most\n%s", r, w.Longest(), stderr)
		default:
			p.t.Logf("PLAYED AGAIN: the machine stood still for %v: %+v", w.Longest(), r)
		}
	}
}

// play plays the demonstration, and returns what it reports and says.
func (p *place) play(args ...string) (r outcome, stderr string) {
	p.t.Helper()
	out, stderr, _ := p.rota(append([]string{"demo", "-o", "json"}, args...)...)
	lines := bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &r); err != nil {
		p.t.Fatalf("%v: %s%s", err, out, stderr)
	}
	return r, stderr
}

// The demonstration starts a server where only the kind of one is named.
func TestDemoStartsAServer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"etcd", "nats", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			if kind == "postgres" {
				_, err := postgres.Program("initdb")
				postgres.Require(t, err)
			}
			p := newPlace(t)
			p.demo("--store", kind+":")
			left, err := filepath.Glob(filepath.Join(p.dir, "rota-demo-"+kind+"-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("the data of the server is still there: %v, %v", left, err)
			}
		})
	}
}

// What the program for servers says when it cannot start one is what the command says.
func TestDemoServerFails(t *testing.T) {
	p := newPlace(t)
	p.write("fails", "#!/bin/sh\necho no room >&2\nexit 1\n")
	must.Succeed(t, os.Chmod(filepath.Join(p.dir, "fails"), 0o700))
	cmd := p.command("demo", "--store", "etcd:")
	cmd.Env = append(cmd.Env, "ROTA_DEMO_SERVER="+filepath.Join(p.dir, "fails"))
	out, errs, code := p.run(cmd)
	if code != exitFailed || out != "" || !strings.Contains(errs, "start a server of etcd") ||
		!strings.Contains(errs, "no room") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	left, err := filepath.Glob(filepath.Join(p.dir, "rota-demo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUsageOfDemoServer(t *testing.T) {
	p := newPlace(t)
	for want, args := range map[string][]string{"usage: ": {"etcd"}, `unknown kind "redis"`: {"redis", p.dir}} {
		cmd := p.command()
		cmd.Path, cmd.Args = filepath.Join(programs, "rota-demo-server"), append([]string{"rota-demo-server"}, args...)
		if out, errs, code := p.run(cmd); code == exitOK || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d\n%s%s", args, code, out, errs)
		}
	}
}
