package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/proof/process"
)

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
		out, stderr, code := p.rota("events", "--store", "file:store", "-o", "json")
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
	await(t, "an added file runs", func() bool { return strings.Contains(a.Stdout.String(), `"v":"one"`) })
	first := token("x")
	p.task("x.yaml", "type: noop\nevery: 100ms\nconfig: {emit: true}\ntags: {v: two}\n")
	await(t, "an edited file runs as edited", func() bool { return strings.Contains(a.Stdout.String(), `"v":"two"`) })
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
	before := strings.Count(a.Stdout.String(), `"v":"two"`)
	await(t, "the last good version goes on", func() bool { return strings.Count(a.Stdout.String(), `"v":"two"`) > before+3 })
	if token("x") != first {
		t.Error("a broken file changed the owner")
	}
	if out, _, _ := p.rota("status", "--store", "file:store"); !strings.Contains(out, "! malformed") {
		t.Errorf("status does not tell of the broken file: %s", out)
	}

	p.task("x.yaml", "type: noop\nevery: 100ms\nconfig: {emit: true}\ntags: {v: three}\n")
	await(t, "a mended file runs", func() bool { return strings.Contains(a.Stdout.String(), `"v":"three"`) })
	await(t, "and that is journaled", func() bool { return count(recoveredKind) == 1 })

	must.Succeed(t, os.Remove(filepath.Join(p.dir, "tasks", "x.yaml")))
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
		must.Succeed(t, members[name].Kill())
	}
	kill("b")
	p.awaitShares(6, "a:3 c:3")
	kill("c")
	p.awaitShares(6, "a:6")
	kill("a")
	p.start("d", "tasks")
	p.awaitShares(6, "d:6")
}

// suspend stops a member while it does not write: nobody can write to the file store while a suspended member has the turn.
func (p *place) suspend(m *running) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	store := filepath.Join(p.dir, "store")
	must.Succeed(p.t, process.StopOutside(ctx, m.PID(), filepath.Join(store, "queue.lock"), filepath.Join(store, "turn.lock")))
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
	await(t, "it says that it came back", func() bool { return strings.Contains(b.Stderr.String(), "joined 1 other member again") })
}

func TestDrainAndUndrain(t *testing.T) {
	p := newPlace(t)
	p.noops(4)
	p.start("a", "tasks")
	p.start("b", "tasks")
	p.awaitShares(4, "a:2 b:2")
	p.says("member drain b", exitOK)
	p.awaitShares(4, "a:4")
	p.says("member list", exitOK, "draining")
	p.says("member undrain b", exitOK)
	p.awaitShares(4, "a:2 b:2")
	p.says("member drain z", exitFailed, "no such member")
}

func TestKillAndUnpark(t *testing.T) {
	p := newPlace(t)
	p.noops(1)
	p.start("a", "tasks")
	p.awaitShares(1, "a:1")
	p.says("task retry t00", exitFailed, "try: rota task list --state parked")
	p.says("job stop t00", exitFailed, "it would come back", "remove its file; or rota job pause t00")
}
