package command

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/rota-run/rota/internal/node"
)

// request is what a signal asks of a member.
type request int

// The requests.
const (
	leave  request = iota // hand over, leave the cluster
	reload                // open files again
)

// asks tells what a signal asks for. SIGHUP means that the terminal was closed, or, to a process that has none, to reload. SIGPIPE means that the
// reader of the output is gone: see outputGone.
func asks(s os.Signal, terminal bool) request {
	if s == syscall.SIGHUP && !terminal {
		return reload
	}
	return leave
}

// onSignals makes the first signal that ends a member drain it, and a second one end the process at once.
func (c *config) onSignals(stop func(), n *node.Node) (<-chan struct{}, func()) {
	signals := make(chan os.Signal, 4)
	if !c.deaf {
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGPIPE)
		if !signal.Ignored(syscall.SIGHUP) { // nohup
			signal.Notify(signals, syscall.SIGHUP)
		}
	}
	terminal := term.IsTerminal(int(os.Stdin.Fd())) || term.IsTerminal(int(os.Stderr.Fd()))
	over, hurry := make(chan struct{}), make(chan struct{})
	go func() {
		for leaving := false; ; {
			var s os.Signal
			select {
			case <-over:
				return
			case s = <-signals:
			}
			if s == syscall.SIGPIPE && !outputGone() {
				continue // a connection to the store was closed
			}
			if asks(s, terminal) == reload {
				c.reload()
				continue
			}
			if leaving && (s == syscall.SIGPIPE || s == syscall.SIGHUP) {
				continue // they come in numbers, and nobody has typed them
			}
			if leaving {
				os.Exit(exitFailed)
			}
			leaving = true
			c.say("leaving: %s", leavingText(owned(n.Value(), n.Member()), c.node.Hold, c.node.DrainTimeout))
			stop()
		}
	}()
	return hurry, func() {
		signal.Stop(signals)
		close(over)
	}
}

// leavingText says what becomes of the tasks of a member that leaves.
func leavingText(tasks int, hold, drain time.Duration) string {
	if hold > 0 {
		return fmt.Sprintf("it has %s, and others wait %s for its restart · once more to end at once", many(tasks, "task"), hold)
	}
	return fmt.Sprintf("%s to hand over, at most %s · once more to end at once", many(tasks, "task"), drain)
}

// reload opens again what others may have renamed. Task files are watched all the time; settings count from the next start on.
func (c *config) reload() {
	file, ok := c.node.Publisher.(interface{ Reopen() error })
	if ok {
		if err := file.Reopen(); err != nil {
			c.say("reload: %v; samples go on to where they went", err)
			return
		}
	}
	c.say("reloaded: %s; task files are read as they change, and settings count from the next start on", c.sampleText)
}
