package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// Nobody is left who could say so: the store does.
func TestStatusAfterAllWereKilled(t *testing.T) {
	p := newPlace(t)
	p.noops(9)
	var members []*running
	for _, m := range []string{"a", "b", "c"} {
		members = append(members, p.start(m, "tasks", "--ttl", "4s"))
	}
	p.awaitShares(9, "a:3 b:3 c:3")
	if out, stderr, code := p.rota("status", "--check", "--store", "file:store"); code != exitOK || out != "ok: 3 members, 9 tasks\n" {
		t.Errorf("of living members: exit %d, %s%s", code, out, stderr)
	}
	for _, m := range members {
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	out, stderr, code := p.rota("status", "--store", "file:store")
	for _, want := range []string{"members 3 (3 probably dead) · tasks 9: 9 owner silent", "! no member is alive: nothing runs", "! gone  a  no heartbeat in the store"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit %d, want %q in\n%s%s", code, want, out, stderr)
		}
	}
	out, _, _ = p.rota("members", "--store", "file:store")
	if strings.Count(out, "gone") != 3 {
		t.Errorf("members:\n%s", out)
	}
	_, stderr, code = p.rota("status", "--check", "--store", "file:store")
	if want := "rota: members that are probably dead: 3, tasks without a live owner: 9\n"; code != exitFailed || !strings.HasPrefix(stderr, want) {
		t.Errorf("exit %d, want %q: %s", code, want, stderr)
	}
	p.start("d", "tasks", "--ttl", "4s")
	p.awaitShares(9, "d:9")
}

// A suspended process keeps its session: only that it does not renew its heartbeat shows.
func TestStatusOfASuspendedMember(t *testing.T) {
	p := newPlace(t)
	p.noops(2)
	a := p.start("a", "tasks", "--ttl", "2s")
	p.awaitShares(2, "a:2")
	p.suspend(a)
	await(t, "status says so", func() bool {
		out, _, _ := p.rota("status", "--store", "file:store")
		return strings.Contains(out, "! silent  a  not renewed for 2 s: probably dead; nobody runs its 2 tasks")
	})
	if _, stderr, code := p.rota("status", "--check", "--store", "file:store"); code != exitFailed || !strings.Contains(stderr, "tasks without a live owner: 2") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// A check whose program cannot be started fails in each round.
func TestStatusOfAFailingTask(t *testing.T) {
	p := newPlace(t)
	program := filepath.Join(p.dir, "missing")
	p.task("sick.yaml", "type: exec\nevery: 100ms\nconfig: {argv: ["+program+"]}\n")
	p.start("a", "tasks", "--allow-exec", program)
	await(t, "tasks says so", func() bool {
		out, _, _ := p.rota("tasks", "--state", "failing", "--store", "file:store")
		return strings.Contains(out, "sick") && strings.Contains(out, "rounds, last: run "+program)
	})
	out, _, _ := p.rota("status", "--store", "file:store")
	if !strings.Contains(out, "tasks 1: 1 failing") || !strings.Contains(out, "! failing  sick") {
		t.Errorf("status:\n%s", out)
	}
}
