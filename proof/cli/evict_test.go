package cli_test

import (
	"strings"
	"syscall"
	"testing"
)

// TestEvictedProcess: a process whose member is evicted gives its tasks away and ends with an exit code of its own, also
// one that was suspended when it was told. One that is started again takes part.
func TestEvictedProcess(t *testing.T) {
	p := newPlace(t)
	start := func(name string) *running {
		m := p.start(name, "--ttl", "3s", "tasks")
		p.joined(name)
		return m
	}
	start("a")
	b := start("b")
	p.noops(4)
	p.awaitShares(4, "a:2 b:2")
	ends := func(m *running) {
		t.Helper()
		if code := m.end(); code != 3 || !strings.Contains(m.Stderr.String(), `"b" was evicted by `) {
			t.Errorf("exit %d: %s", code, m.Stderr.String())
		}
		p.awaitShares(4, "a:4")
	}
	p.says("member evict b", exitOK)
	ends(b)
	b = start("b")
	p.awaitShares(4, "a:2 b:2")
	b.signal(syscall.SIGSTOP)
	p.says("member evict b", exitOK)
	p.awaitShares(4, "a:4")
	b.signal(syscall.SIGCONT)
	ends(b)
}
