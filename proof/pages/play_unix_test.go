//go:build unix

package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rota-run/rota/internal/view"
)

// play is a guide that is followed.
type play struct {
	*user
	Guide
	tasks   int      // in the quickstart
	members []*typed // in the order in which they were started; those that have ended are left out
	began   time.Time
}

// follow does what a guide says, from nothing to three members, and ends them as it says: one in order, one by force.
func (u *user) follow(ctx context.Context, g Guide) error {
	p := &play{user: u, Guide: g, began: time.Now()}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"unpack the examples", p.unpack}, {"start the server and check it", p.serve}, {"start three members", p.start},
		{"look", p.look},
		{"end one with ctrl-c", p.interrupt}, {"kill one", p.kill}, {"end the last one", p.leave},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		u.t.Logf("%6d ms: %s", time.Since(p.began).Milliseconds(), step.what)
	}
	return nil
}

// unpack makes the folder one in which the examples lie.
func (p *play) unpack(context.Context) error {
	tasks := filepath.Join("examples", "quickstart", "tasks")
	if err := os.CopyFS(filepath.Join(p.dir, tasks), os.DirFS(filepath.Join(root, tasks))); err != nil {
		return err
	}
	files, err := os.ReadDir(filepath.Join(p.dir, tasks))
	p.tasks = len(files)
	return err
}

// serve starts the server in a folder of its own and asks until it is fit: nothing else tells when it serves.
func (p *play) serve(ctx context.Context) error {
	var server *typed
	if p.Server != "" {
		var err error
		if server, err = p.types(filepath.Join(p.dir, "server"), p.Server); err != nil {
			return err
		}
	}
	last := error(nil)
	err := await(ctx, "the store is fit", func() (bool, error) {
		if server != nil {
			if err := server.failed(); err != nil {
				return false, err
			}
		}
		out, err := p.asks(ctx, p.Check)
		if ctx.Err() == nil { // else it was cut off, and says nothing of the store
			last = err
		}
		if misused(last) {
			return false, last
		}
		if err == nil && !strings.Contains(out, "ok  append") {
			return false, fmt.Errorf("%s says %s", p.Check, out)
		}
		return err == nil || server == nil, nil
	})
	return errors.Join(err, last)
}

// misused tells that rota did not understand its command line; then asking again is of no use.
func misused(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 2
}

// start types the same line three times. The shell becomes the member, as if it were typed into one that people use:
// there ctrl-c ends the member alone.
func (p *play) start(ctx context.Context) error {
	for range 3 {
		m, err := p.types(p.dir, "exec "+p.Run)
		if err != nil {
			return err
		}
		p.members = append(p.members, m)
	}
	return p.awaitShares(ctx)
}

// look types the lines that show members and tasks as they stand.
func (p *play) look(ctx context.Context) error {
	for _, line := range []string{p.Members, p.Tasks} {
		out, err := p.asks(ctx, line)
		if err != nil {
			return err
		}
		for _, m := range p.members {
			if !strings.Contains(out, m.member()) {
				return fmt.Errorf("%q does not show %s: %s", line, m.member(), out)
			}
		}
	}
	return nil
}

// interrupt ends the first member with ctrl-c. When it is gone, its tasks are no longer its own: they have moved first.
func (p *play) interrupt(ctx context.Context) error {
	m := p.members[0]
	p.members = p.members[1:]
	if err := m.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := m.end(ctx); err != nil {
		return err
	}
	tasks, err := ask[view.Task](ctx, p, p.Tasks)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(tasks, func(t view.Task) bool { return t.Owner == m.member() }); i >= 0 {
		return fmt.Errorf("%s has ended, and %+v is still its own", m.member(), tasks[i])
	}
	return p.awaitShares(ctx)
}

// kill is kill -9 of the next one.
func (p *play) kill(ctx context.Context) error {
	m := p.members[0]
	p.members = p.members[1:]
	if err := m.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	return p.awaitShares(ctx)
}

func (p *play) leave(ctx context.Context) error {
	m := p.members[0]
	if err := m.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return m.end(ctx)
}

var firstLine = regexp.MustCompile(` · member (\S+) · `)

// member is the name that a member has given itself; "" as long as it has said none.
func (p *typed) member() string {
	if m := firstLine.FindStringSubmatch(p.said()); m != nil {
		return m[1]
	}
	return ""
}

// awaitShares waits until those members that are left, and no others, share all tasks within one of each other.
func (p *play) awaitShares(ctx context.Context) error {
	last := ""
	err := await(ctx, fmt.Sprintf("%d members share %d tasks", len(p.members), p.tasks), func() (bool, error) {
		tasks, err := ask[view.Task](ctx, p, p.Tasks)
		if err != nil {
			return false, err
		}
		members, err := ask[view.Member](ctx, p, p.Members)
		if err != nil {
			return false, err
		}
		last = p.unshared(members, tasks)
		return last == "", nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, last)
	}
	return nil
}

// unshared tells what is not yet as it should be; "" if nothing.
func (p *play) unshared(members []view.Member, tasks []view.Task) string {
	count := map[string]int{}
	for _, m := range p.members {
		count[m.member()] = 0
	}
	for _, m := range members {
		if _, ours := count[m.Member]; !ours || m.State != "joined" {
			return fmt.Sprintf("%s is %s", m.Member, m.State)
		}
	}
	for _, t := range tasks {
		// A task whose check fails runs all the same: this machine may not reach what the examples ask.
		if _, ours := count[t.Owner]; !ours || t.State != view.Running && t.State != view.Failing {
			return fmt.Sprintf("%s is %s at %q", t.Task, t.State, t.Owner)
		}
		count[t.Owner]++
	}
	least, most := len(tasks), 0
	for _, n := range count {
		least, most = min(least, n), max(most, n)
	}
	if len(members) != len(p.members) || len(tasks) != p.tasks || most-least > 1 {
		return fmt.Sprintf("%d members and %d tasks: %v", len(members), len(tasks), count)
	}
	return ""
}

// ask types a line of the page with -o json behind it, until it is answered: the first member has yet to make the
// store, or the machine is busy.
func ask[T any](ctx context.Context, p *play, line string) ([]T, error) {
	var out string
	last := error(nil)
	err := await(ctx, "there is an answer", func() (bool, error) {
		for _, m := range p.members {
			if err := m.failed(); err != nil {
				return false, err
			}
		}
		if out, last = p.asks(ctx, line+" -o json"); misused(last) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil {
		return nil, errors.Join(err, last)
	}
	var all []T
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return nil, fmt.Errorf("%q: %w in %s", line, err, out)
	}
	return all, nil
}
