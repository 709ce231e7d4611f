package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// twoCopies makes two directories of the source tasks: the second has an older copy.
func (p *place) twoCopies() {
	p.t.Helper()
	for dir, names := range map[string][]string{"new": {"n1", "n2", "n3"}, "old": {"n1"}} {
		must.Succeed(p.t, os.Mkdir(filepath.Join(p.dir, dir), 0o750))
		for _, name := range names {
			p.write(filepath.Join(dir, name+".yaml"), "type: noop\nevery: 1s\n")
		}
	}
}

func (p *place) awaitStatus(want string) {
	p.t.Helper()
	await(p.t, "status says: "+want, func() bool {
		out, _, _ := p.rota("status", "--store", p.store)
		return strings.Contains(out, want)
	})
}

func TestAnOlderCopyRemovesNothing(t *testing.T) {
	p := newPlace(t)
	p.twoCopies()
	first := p.start("web-1", "--source", "tasks=new", "--ttl", "2s")
	p.awaitShares(3, "web-1:3")
	second := p.start("web-2", "--source", "tasks=old", "--ttl", "2s")
	p.awaitStatus("! sources differ  rota.source.tasks  web-1 has 3 tasks, web-2 has 1; n2, n3 only at web-1 (the files of web-") // the source may have moved to the member that joined
	must.Succeed(t, first.Kill())
	await(t, "the other member says that its files count", func() bool {
		return strings.Contains(second.Stderr.String(), "source tasks: the files of this member count")
	})
	p.awaitStatus("n2, n3 run, and no copy has them (web-1 had) (the files of web-2 count)")
	p.awaitShares(3, "web-2:3")

	for _, name := range []string{"n2", "n3"} {
		must.Succeed(t, os.Remove(filepath.Join(p.dir, "new", name+".yaml")))
	}
	p.start("web-1", "--source", "tasks=new", "--ttl", "2s")
	await(t, "the tasks whose files are gone from both directories end", func() bool { tasks := p.tasks(); return len(tasks) == 1 && tasks[0].Task == "n1" })
	await(t, "the journal has what was added and removed", func() bool {
		out, _, _ := p.rota("events", "--store", p.store)
		return containsAll(out, []string{"task-added", "task-removed", "n3  its file is gone from all copies of source tasks"})
	})
}

func TestPruneEndsWhatNoDirectoryHas(t *testing.T) {
	p := newPlace(t)
	p.twoCopies()
	first := p.start("web-1", "--source", "tasks=new", "--ttl", "2s")
	p.awaitShares(3, "web-1:3")
	must.Succeed(t, first.Kill())
	second := p.start("web-2", "--source", "tasks=old", "--ttl", "2s")
	p.awaitStatus("n2, n3 run, and no copy has them (web-1 had)")
	p.awaitShares(3, "web-2:3")
	p.tells("source prune tasks", "2 tasks of source tasks ended")
	p.awaitShares(1, "web-2:1")
	p.write("old/n1.yaml", "type: noop\nevry: 1s\n")
	await(t, "a bad edit is said on stderr", func() bool { return strings.Contains(second.Stderr.String(), "unknown field") })
	p.says("source prune nope", exitFailed, `no living member declares the source "nope"`)
}
