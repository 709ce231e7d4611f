package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/sim/history"
)

// A member is killed, and its server too. Started again without a server it runs what keeps on store loss, says so, and
// waits; when the server is back it joins, and runs all under new grants.
func TestAStartWithoutAServer(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := p.ownServer("etcd")
	p.task("on.yaml", "type: noop\nevery: 1s\non_store_loss: keep\n")
	p.task("off.yaml", "type: noop\nevery: 1s\n")
	start := func(witness string) *running {
		return p.start("a", "--protocol", "leader", "--ttl", "2s", "--state-dir", "state", "--witness", witness,
			"tasks")
	}
	a := start("first.witness")
	p.awaitShares(2, "a:2")
	await(t, "both run", func() bool { return p.runs("first.witness") == 2 })
	await(t, "what keeps is on disk", func() bool {
		files, err := filepath.Glob(filepath.Join(p.dir, "state", "a-*.json"))
		if err != nil || len(files) != 1 {
			return false
		}
		text, err := os.ReadFile(files[0])
		return err == nil && strings.Contains(string(text), `"Partition": "on"`) &&
			!strings.Contains(string(text), `"Partition": "off"`)
	})
	a.signal(syscall.SIGKILL)
	a.end()
	must.Succeed(t, s.Kill())
	a = start("second.witness")
	await(t, "it says what it does", func() bool {
		return strings.Contains(a.Stdout.String()+a.Stderr.String(), "waits for the store") &&
			strings.Contains(a.Stdout.String()+a.Stderr.String(), "1 task with on_store_loss: keep")
	})
	await(t, "the one that keeps runs",
		func() bool { return strings.Join(started(t, p, "second.witness"), " ") == "on" })
	must.Succeed(t, s.Restart(ctx))
	p.awaitShares(2, "a:2")
	await(t, "both run again", func() bool { return p.runs("second.witness") == 2 })
	a.signal(syscall.SIGTERM)
	if code := a.end(); code != exitOK {
		t.Errorf("exit %d: %s", code, a.Stderr.String())
	}
}

// started are the tasks of files that a member has started, in order.
func started(t *testing.T, p *place, witness string) (out []string) {
	t.Helper()
	w := process.Witness{Path: filepath.Join(p.dir, witness)}
	records := must.Get(w.Next())(t)
	for _, r := range records {
		if r.Kind == history.Started && !strings.HasPrefix(string(r.Partition), "rota.") {
			out = append(out, string(r.Partition))
		}
	}
	return out
}
