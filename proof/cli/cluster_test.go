package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/cmd/rota/internal/demo"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/proof/stall"
	"github.com/rota-run/rota/protocol"
)

func TestThreeProcessesShareTasks(t *testing.T) {
	p := newPlace(t)
	p.noops(9)
	for _, m := range []string{"a", "b", "c"} {
		p.start(m, "tasks")
	}
	p.awaitShares(9, "a:3 b:3 c:3")
}

func TestTaskFilesTakeEffectAsTheyChange(t *testing.T) {
	p := newPlace(t)
	a := p.start("a", "tasks")
	token := func(name string) uint64 {
		for _, x := range p.tasks() {
			if x.Task == name && x.State == "running" {
				return x.Token
			}
		}
		return 0
	}
	journal := func() []journal.Record {
		out, stderr, code := p.rota("journal", "--store", "file:store", "--json")
		var records []journal.Record
		if err := json.Unmarshal([]byte(out), &records); err != nil || code != exitOK {
			t.Fatalf("journal: exit %d, %v: %s", code, err, stderr)
		}
		return records
	}
	count := func(kind journalKind) (n int) {
		for _, r := range journal() {
			if r.Kind == kind {
				n++
			}
		}
		return n
	}
	await(t, "the store is there", func() bool { _, _, code := p.rota("status", "--store", "file:store"); return code == exitOK })

	p.task("x.yaml", "type: noop\nevery: 100ms\nconfig: {emit: true}\ntags: {v: one}\n")
	await(t, "an added file runs", func() bool { return strings.Contains(a.stdout.String(), `"v":"one"`) })
	first := token("x")
	p.task("x.yaml", "type: noop\nevery: 100ms\nconfig: {emit: true}\ntags: {v: two}\n")
	await(t, "an edited file runs as edited", func() bool { return strings.Contains(a.stdout.String(), `"v":"two"`) })
	if second := token("x"); first == 0 || second != first {
		t.Errorf("token %d became %d: an edit is no reason to change the owner", first, second)
	}

	p.task("x.yaml", "type: noop\nevry: 100ms\n")
	await(t, "a broken file is journaled", func() bool { return count(malformedKind) == 1 })
	for _, r := range journal() {
		if r.Kind == malformedKind && (r.Storage == nil || r.Storage.Line != 2 || !strings.Contains(r.Message, "evry")) {
			t.Errorf("the record does not say where and what: %+v", r)
		}
	}
	before := strings.Count(a.stdout.String(), `"v":"two"`)
	await(t, "the last good version goes on", func() bool { return strings.Count(a.stdout.String(), `"v":"two"`) > before+3 })
	if token("x") != first {
		t.Error("a broken file changed the owner")
	}
	if out, _, _ := p.rota("status", "--store", "file:store"); !strings.Contains(out, "! malformed") {
		t.Errorf("status does not tell of the broken file: %s", out)
	}

	p.task("x.yaml", "type: noop\nevery: 100ms\nconfig: {emit: true}\ntags: {v: three}\n")
	await(t, "a mended file runs", func() bool { return strings.Contains(a.stdout.String(), `"v":"three"`) })
	await(t, "and that is journaled", func() bool { return count(recoveredKind) == 1 })

	if err := os.Remove(filepath.Join(p.dir, "tasks", "x.yaml")); err != nil {
		t.Fatal(err)
	}
	await(t, "a removed file's task is gone", func() bool { return len(p.tasks()) == 0 })
	if n := count(malformedKind); n != 1 {
		t.Errorf("the broken file was journaled %d times", n)
	}
}

type journalKind = journal.Kind

const (
	malformedKind = journal.Malformed
	recoveredKind = journal.Recovered
)

func TestKillOneTwoAll(t *testing.T) {
	p := newPlace(t)
	p.noops(6)
	members := map[string]*running{}
	for _, m := range []string{"a", "b", "c"} {
		members[m] = p.start(m, "tasks")
	}
	p.awaitShares(6, "a:2 b:2 c:2")
	kill := func(name string) {
		members[name].signal(syscall.SIGKILL)
		members[name].end()
	}
	kill("b")
	p.awaitShares(6, "a:3 c:3")
	kill("c")
	p.awaitShares(6, "a:6")
	kill("a")
	p.start("d", "tasks")
	p.awaitShares(6, "d:6")
}

func TestAllKilledAtOnceAndOneComesBackUnderItsName(t *testing.T) {
	p := newPlace(t)
	p.noops(4)
	a, b := p.start("a", "tasks"), p.start("b", "tasks")
	p.awaitShares(4, "a:2 b:2")
	a.signal(syscall.SIGKILL)
	b.signal(syscall.SIGKILL)
	a.end()
	b.end()
	p.start("b", "tasks")
	p.awaitShares(4, "b:4")
}

// suspend stops a member while it does not write: the file store says that nobody can write while a suspended member has the turn. What it holds is
// looked at when it stands still: until then a thread of it may begin to write.
func (p *place) suspend(m *running) {
	p.t.Helper()
	await(p.t, "the member stands still, and not in the middle of a write", func() bool {
		m.signal(syscall.SIGSTOP)
		await(p.t, "it stands still", func() bool { return demo.StandsStill(m.cmd.Process.Pid) })
		if p.unlocked("queue.lock") && p.unlocked("turn.lock") {
			return true
		}
		m.signal(syscall.SIGCONT)
		return false
	})
}

// unlocked tells whether nobody holds a lock file of the store.
func (p *place) unlocked(name string) bool {
	p.t.Helper()
	f, err := os.Open(filepath.Join(p.dir, "store", name))
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func TestASuspendedMemberLosesItsTasksAndComesBack(t *testing.T) {
	p := newPlace(t)
	p.noops(4)
	p.start("a", "tasks", "--ttl", "2s")
	b := p.start("b", "tasks", "--ttl", "2s")
	p.awaitShares(4, "a:2 b:2")
	p.suspend(b)
	p.awaitShares(4, "a:4")
	b.signal(syscall.SIGCONT)
	p.awaitShares(4, "a:2 b:2")
	await(t, "it says that it came back", func() bool { return strings.Contains(b.stderr.String(), "joined 1 other member again") })
}

func TestDrainAndUndrain(t *testing.T) {
	p := newPlace(t)
	p.noops(4)
	p.start("a", "tasks")
	p.start("b", "tasks")
	p.awaitShares(4, "a:2 b:2")
	if _, stderr, code := p.rota("drain", "b", "--store", "file:store"); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	p.awaitShares(4, "a:4")
	if out, _, _ := p.rota("members", "--store", "file:store"); !strings.Contains(out, "draining") {
		t.Errorf("members does not tell of the drain:\n%s", out)
	}
	if _, stderr, code := p.rota("undrain", "b", "--store", "file:store"); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	p.awaitShares(4, "a:2 b:2")
	if _, stderr, code := p.rota("drain", "z", "--store", "file:store"); code != exitFailed || !strings.Contains(stderr, "no such member") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

func TestDemo(t *testing.T) { newPlace(t).demo() }

// A directory is that of who plays it, not of the members.
func TestDemoInADirectory(t *testing.T) { newPlace(t).demo("--store", "file:here") }

// Members inside one process keep the same promises; what stands for a suspension is stricter there, as their tasks go on.
// The settings of who plays it are not theirs.
func TestDemoInMemory(t *testing.T) {
	p := newPlace(t)
	p.write("rota.yaml", "ttl: nonsense\n")
	p.demo("--store", "memory:")
}

// Heartbeats alone, and each round has a store of its own.
func TestDemoInMemoryByHeartbeats(t *testing.T) {
	newPlace(t).demo("--store", "memory:", "--no-sessions", "--rounds", "2")
}

// starved is for how long members in one process may stand still together and keep their promises all the same: less than is between the instant at
// which a suspended one must stop its tasks and the one at which others start them.
const starved = 300 * time.Millisecond

// demo plays the demonstration and looks at its outcome. Where the machine stood still that says nothing, and it is played again.
func (p *place) demo(args ...string) {
	p.t.Helper()
	for tries := 1; ; tries++ {
		w := stall.Begin(func() int64 { return int64(protocol.Now()) })
		r, stderr := p.play(args...)
		w.Close()
		p.t.Log(r) // its bounds of time are for a machine that does nothing else; here those without a clock count
		switch good := r.Tasks == 12 && r.Members == 3 && r.Overlaps == 0 && r.Lost == 0 && r.Moves == r.FewestMoves && r.Moves > 0; {
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
func (p *place) play(args ...string) (r demo.Report, stderr string) {
	p.t.Helper()
	out, stderr, _ := p.rota(append([]string{"demo", "--json"}, args...)...)
	lines := bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &r); err != nil {
		p.t.Fatalf("%v: %s%s", err, out, stderr)
	}
	return r, stderr
}

func TestKillAndUnpark(t *testing.T) {
	p := newPlace(t)
	p.noops(1)
	p.start("a", "tasks")
	p.awaitShares(1, "a:1")
	if _, stderr, code := p.rota("unpark", "t00", "--store", "file:store"); code != exitFailed || !strings.Contains(stderr, "try: rota tasks --state parked") {
		t.Errorf("a task that is not parked: exit %d, %q", code, stderr)
	}
	out, stderr, code := p.rota("kill", "t00", "--store", "file:store", "--json")
	if code != exitOK || !strings.Contains(out, `"accepted":true`) {
		t.Fatalf("exit %d: %s%s", code, out, stderr)
	}
	p.awaitShares(1, "a:1") // its file is still there
	if log, _, _ := p.rota("log", "--store", "file:store"); !strings.Contains(log, "kill-job t00") {
		t.Errorf("the log does not tell:\n%s", log)
	}
}
