package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/view"
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
		m.signal(syscall.SIGKILL)
	}
	for _, m := range members {
		m.end()
	}
	// Those who were killed last may have taken over from the first: then these are no members any more.
	out, stderr, code := p.rota("status", "--store", "file:store", "-o", "json")
	var st struct {
		view.Status
		Members []view.Member `json:"member_list"`
	}
	if err := json.Unmarshal([]byte(out), &st); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	if n := st.Status.Members; n.Total == 0 || n.Silent != n.Total || st.Tasks.Silent != 9 || st.Tasks.Running != 0 {
		t.Errorf("got %+v, %+v", n, st.Tasks)
	}
	for _, m := range st.Members {
		if m.Heartbeat == nil || m.Heartbeat.State != view.HeartbeatGone {
			t.Errorf("the heartbeat of %s is %+v", m.Member, m.Heartbeat)
		}
	}
	p.says("status", exitOK, "tasks 9: 9 owner silent", "! no member is alive: nothing runs")
	p.says("status --check", exitFailed, "tasks without a live owner: 9\n")
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
	p.says("status --check", exitFailed, "tasks without a live owner: 2")
}

// A check whose program cannot be started fails in each round.
func TestStatusOfAFailingTask(t *testing.T) {
	p := newPlace(t)
	program := filepath.Join(p.dir, "missing")
	p.task("sick.yaml", "type: exec\nevery: 100ms\nconfig: {argv: ["+program+"]}\n")
	p.start("a", "tasks", "--allow-exec", program)
	await(t, "tasks says so", func() bool {
		out, _, _ := p.rota("task", "list", "--state", "failing", "--store", "file:store")
		return containsAll(out, []string{"sick", "rounds, last: run " + program})
	})
	p.says("status", exitOK, "tasks 1: 1 failing", "! failing  sick")
}

// Members on this machine answer, whichever of them is suspended or dead; with none the store is read.
func TestStatusFromMembers(t *testing.T) {
	p := newPlace(t)
	p.noops(9)
	var members []*running
	for _, m := range []string{"a", "b", "c"} {
		members = append(members, p.start(m, "tasks", "--ttl", "60s"))
	}
	p.awaitShares(9, "a:3 b:3 c:3")
	all := "members 3 · tasks 9: 9 running"
	p.says("status", exitOK, all)
	sockets, err := filepath.Glob(filepath.Join(p.dir, "store", "members", "*.sock"))
	if err != nil || len(sockets) != len(members) {
		t.Fatalf("sockets %q, %v", sockets, err)
	}
	for _, s := range sockets {
		if info, err := os.Stat(s); err != nil || info.Mode() != os.ModeSocket|0o600 {
			t.Errorf("%s: %v, %v", s, info, err)
		}
	}
	for _, m := range members {
		p.suspend(m)
		p.says("status", exitOK, all)
		m.signal(syscall.SIGCONT)
	}
	for _, m := range members {
		m.signal(syscall.SIGKILL)
	}
	for _, m := range members {
		m.end()
	}
	p.says("status", exitOK, "no member is alive")
	p.start("a", "tasks", "--ttl", "4s")
	p.awaitShares(9, "a:9")
	p.says("status", exitOK, "members 1 · tasks 9: 9 running")
}
