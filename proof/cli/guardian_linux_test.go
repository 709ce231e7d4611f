package cli_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/protocol"
)

// figureKills is from how many kills on a run is one for the figures.
const figureKills = 20

// kills is how often each member of TestKilled is killed: 20 for the figures of docs/internals/performance.md.
var kills = flag.Int("kills", 3, "how many kills of TestKilled")

// killTTL is the TTL of the members that are killed: so long that nobody takes over by chance. The figures are of a
// longer one.
func killTTL() time.Duration {
	if *kills < figureKills {
		return 6 * time.Second
	}
	return 10 * time.Second
}

// script is a program of a task. It and what it starts write down the token as long as they run: a child, one whose
// parent has ended, and one in a session of its own, that hears no signal.
const script = `w() { while :; do echo "$ROTA_TOKEN $1" >>acts; sleep 0.02; done; }
w child & (w orphan &) ; (setsid sh -c 'trap "" TERM HUP; while :; do echo "$ROTA_TOKEN session" >>acts; sleep 0.02; done' &)
w program`

// A member is killed, on each store: others have its tasks at once, and never while something of its programs still
// runs. With the guardian killed before it they wait for the TTL.
func TestKilled(t *testing.T) {
	t.Run("file", func(t *testing.T) { killed(newPlace(t), "file") })
	onServers(t, func(p *place, _ *server.Server) { killed(p, p.store[:strings.Index(p.store, ":")]) })
}

// takenOverWithin is how soon others have the tasks of a killed member. On stores without sessions a guardian can end
// only the member's programs. The half second that is promised is of a machine that is not busy: the run for the
// figures looks at it, the others at what only a guardian can do.
func takenOverWithin(store string) time.Duration {
	switch {
	case store == "elastic" || store == "kafka":
		return killTTL() + time.Second
	case *kills < figureKills:
		return 2500 * time.Millisecond
	}
	return 500 * time.Millisecond
}

func killed(p *place, store string) {
	p.write("script.sh", script)
	p.task("script.yaml", "type: command\nstay: false\nconfig: {argv: [/bin/sh, '"+filepath.Join(p.dir, "script.sh")+
		"'], dir: '"+p.dir+"'}\n")
	for i := range 3 {
		p.task(fmt.Sprintf("t%d.yaml", i), "type: noop\nevery: 1s\n")
	}
	g := &guarded{place: p, members: map[string]*running{}, starts: map[string]int{}}
	g.begin("a")
	g.begin("b")
	g.settled()
	var with, without []time.Duration
	for i := range *kills {
		name := []string{"a", "b"}[i%2]
		with = append(with, g.kill(name, false))
		if i == 0 || *kills >= figureKills { // each of these waits for the TTL
			without = append(without, g.kill(name, true))
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	p.t.Logf("%s, TTL %v: taken over after %v to %v, median %v of %d; with the guardian killed before: %v to %v", store,
		killTTL(),
		with[0], with[len(with)-1], with[len(with)/2], len(with), without[0], without[len(without)-1])
	if most, bound := with[len(with)-1], takenOverWithin(store); most > bound {
		p.t.Errorf("taken over after %v, want %v at most", most, bound)
	}
	if median, bound := with[len(with)/2], 500*time.Millisecond; takenOverWithin(store) < killTTL() && median > bound {
		p.t.Errorf("taken over after %v in the median, want %v at most", median, bound)
	}
	if most := without[len(without)-1]; most > killTTL()+time.Second {
		p.t.Errorf("without a guardian: taken over after %v", most)
	}
	g.acts()
}

// guarded are two members that are killed in turn.
type guarded struct {
	*place
	members map[string]*running
	starts  map[string]int
}

func (g *guarded) begin(name string) {
	g.t.Helper()
	g.starts[name]++
	g.members[name] = g.start(name, "--ttl", killTTL().String(), "--allow-exec", "/bin/sh", "--witness",
		g.witness(name), "tasks")
}

func (g *guarded) witness(name string) string {
	return fmt.Sprintf("%s%d.witness", name, g.starts[name])
}

// settled waits until both have two tasks and a guardian.
func (g *guarded) settled() {
	g.t.Helper()
	g.awaitShares(4, "a:2 b:2")
	await(g.t, "both have a guardian", func() bool {
		out, _, _ := g.rota("member", "list", "--store", g.store, "-o", "json")
		return strings.Count(out, `"guardian":"on"`) == 2
	})
}

// kill kills a member, and its guardian first if that is wanted, and returns how long its tasks were without an owner.
func (g *guarded) kill(name string, guardianToo bool) time.Duration {
	g.t.Helper()
	other := map[string]string{"a": "b", "b": "a"}[name]
	w := process.Witness{Path: filepath.Join(g.dir, g.witness(other))}
	must.Succeed(g.t, must.Err(w.Next()))
	m := g.members[name]
	pid := guardianOf(g.t, m.PID())
	if guardianToo {
		must.Succeed(g.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	at := int64(protocol.Now())
	must.Succeed(g.t, m.Signal(syscall.SIGKILL))
	var last int64
	n := 0
	await(g.t, other+" has taken over", func() bool {
		records, err := w.Next()
		must.Succeed(g.t, err)
		for _, r := range records {
			if r.Kind == history.Started && !strings.HasPrefix(string(r.Partition), "rota.") {
				last = max(last, r.At)
				n++
			}
		}
		return n >= 2
	})
	must.Succeed(g.t, m.Kill())
	g.begin(name)
	g.settled()
	return time.Duration(last - at)
}

// guardianOf is the guardian of a member, which must have one.
func guardianOf(t *testing.T, pid int) int {
	t.Helper()
	child := findGuardian(t, pid)
	if child == 0 {
		t.Fatalf("process %d has no guardian", pid)
	}
	return child
}

// findGuardian finds the guardian of a member among its children; 0 for none.
func findGuardian(t *testing.T, pid int) int {
	t.Helper()
	tasks := must.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)))(t)
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for _, f := range strings.Fields(string(b)) {
			line, _ := os.ReadFile("/proc/" + f + "/cmdline")
			if strings.HasPrefix(string(line), "rota-guardian\x00") {
				child := must.Get(strconv.Atoi(f))(t)
				return child
			}
		}
	}
	return 0
}

// acts checks what the programs and all that they have started wrote down: once somebody has acted under a token,
// nobody acts under a smaller one.
func (g *guarded) acts() {
	g.t.Helper()
	f, err := os.Open(filepath.Join(g.dir, "acts"))
	must.Succeed(g.t, err)
	defer f.Close()
	newest, owners, late := 0, 0, 0
	kinds := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, kind, _ := strings.Cut(lines.Text(), " ")
		token, err := strconv.Atoi(text)
		if err != nil {
			g.t.Fatalf("%q: %v", lines.Text(), err)
		}
		kinds[kind]++
		switch {
		case token > newest:
			newest = token
			owners++
		case token < newest:
			late++
			g.t.Errorf("%s acted under token %d after %d", kind, token, newest)
		}
	}
	g.t.Logf("%d owners, %d acts of former ones; %v", owners, late, kinds)
	for _, kind := range []string{"program", "child", "orphan", "session"} {
		if kinds[kind] == 0 {
			g.t.Errorf("no act of the %s was seen: the test shows nothing", kind)
		}
	}
	if owners < *kills/2 {
		g.t.Errorf("the programs had %d owners: the test shows nothing", owners)
	}
}

// While its member lives, a guardian does nothing: it uses little memory, no processor, and no port; a terminal's
// signals do not end it.
func TestGuardianAtRest(t *testing.T) {
	p := newPlace(t)
	m := p.start("a", "--ttl", "6s", "--allow-exec", "/bin/sh") // a third of it until it says that it has one
	await(t, "it has a guardian", func() bool {
		out, _, _ := p.rota("member", "list", "--store", p.store, "-o", "json")
		return strings.Contains(out, `"guardian":"on"`)
	})
	pid := guardianOf(t, m.PID())
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		must.Succeed(t, syscall.Kill(pid, s))
	}
	if n := field(t, pid, "status", "VmRSS:"); n > 10<<10 {
		t.Errorf("it uses %d kB of memory, of which %d kB are its own", n, field(t, pid, "status", "RssAnon:"))
	} else {
		t.Logf("it uses %d kB of memory, of which %d kB are its own", n, field(t, pid, "status", "RssAnon:"))
	}
	before := processorTime(t, pid)
	<-time.After(2 * time.Second) // waits: the time that is measured
	if used := processorTime(t, pid) - before; used > 0 {
		t.Errorf("it used %d ticks of processor time in 2 s", used)
	}
	open := must.Get(os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)))(t)
	for _, f := range open {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, f.Name()))
		if err == nil && strings.HasPrefix(to, "socket:") && f.Name() != "3" {
			t.Errorf("descriptor %s is %s", f.Name(), to)
		}
	}
	must.Succeed(t, syscall.Kill(pid, syscall.SIGKILL))
	await(t, "a lost guardian is started again", func() bool {
		next := findGuardian(t, m.PID())
		return next != 0 && next != pid
	})
	m.signal(syscall.SIGTERM)
	if code := m.end(); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// field is a number of /proc.
func field(t *testing.T, pid int, file, name string) int {
	t.Helper()
	b := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file)))(t)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n := must.Get(strconv.Atoi(strings.Fields(rest)[0]))(t)
			return n
		}
	}
	t.Fatalf("%s has no %s", file, name)
	return 0
}

// processorTime is what a process has used, in hundredths of a second.
func processorTime(t *testing.T, pid int) int {
	t.Helper()
	b := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t)
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return user + system
}
