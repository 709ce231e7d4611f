package cli_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/view"
)

// A paused task has no owner, whatever becomes of the members and of its file, until it is resumed: by each protocol that a directory can have.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"replica", "leader", "lease"} {
		t.Run(protocol, func(t *testing.T) {
			p := newPlace(t)
			p.noops(3)
			a := p.start("a", "--protocol", protocol, "tasks")
			p.start("b", "--protocol", protocol, "tasks")
			running := func(n int) func() bool {
				return func() bool {
					for _, task := range p.tasks() {
						if task.State == view.Running {
							n--
						}
					}
					return n == 0
				}
			}
			await(t, "three tasks", func() bool { return running(3)() })
			name := p.tasks()[0].Task
			p.must("job", "pause", name, "--store", "file:store")
			paused := func() bool { task := p.tasks()[0]; return task.State == view.Paused && task.Owner == "" }
			await(t, "a pause", paused)
			p.task(name+".yaml", "type: noop\nevery: 2s\n") // another definition is no end of the pause
			a.signal(syscall.SIGKILL)
			await(t, "the other tasks at b", func() bool { return running(2)() })
			if !paused() {
				t.Errorf("after the death of a: %+v", p.tasks()[0])
			}
			if out, _, _ := p.rota("why", name, "--store", "file:store"); !strings.Contains(out, "paused by ") || !strings.Contains(out, "rota job resume "+name) {
				t.Errorf("why:\n%s", out)
			}
			if out, _, _ := p.rota("status", "--store", "file:store"); !strings.Contains(out, "! paused") {
				t.Errorf("status:\n%s", out)
			}
			p.must("job", "resume", name, "--store", "file:store")
			await(t, "three tasks at b", func() bool { return running(3)() })
			if out, _, _ := p.rota("events", "--store", "file:store"); !strings.Contains(out, "pause-job "+name) || !strings.Contains(out, "resume-job "+name) {
				t.Errorf("journal:\n%s", out)
			}
		})
	}
}

// must runs a command that succeeds.
func (p *place) must(args ...string) {
	p.t.Helper()
	if _, stderr, code := p.rota(args...); code != exitOK {
		p.t.Fatalf("rota %s: exit %d: %s", strings.Join(args, " "), code, stderr)
	}
}
