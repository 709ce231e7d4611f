package cli_test

import (
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/view"
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
			p.says("job pause "+name, exitOK)
			paused := func() bool { task := p.tasks()[0]; return task.State == view.Paused && task.Owner == "" }
			await(t, "a pause", paused)
			p.task(name+".yaml", "type: noop\nevery: 2s\n") // another definition is no end of the pause
			a.signal(syscall.SIGKILL)
			await(t, "the other tasks at b", func() bool { return running(2)() })
			if !paused() {
				t.Errorf("after the death of a: %+v", p.tasks()[0])
			}
			p.says("why "+name, exitOK, "paused by ", "rota job resume "+name)
			p.says("status", exitOK, "! paused")
			p.says("job resume "+name, exitOK)
			await(t, "three tasks at b", func() bool { return running(3)() })
			p.says("events", exitOK, "pause-job "+name, "resume-job "+name)
		})
	}
}
