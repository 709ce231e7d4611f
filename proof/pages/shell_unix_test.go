//go:build unix

package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

// patience bounds every wait; it says nothing about how long things should take.
const patience = 2 * time.Minute

// await looks until a condition holds; an error of the look ends the wait.
func await(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds()
		if err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it is not so in time: %s", what)
		}
	}
}

// user is somebody who has read a page and types what it says.
type user struct {
	t   *testing.T
	dir string   // where she is; a folder with the examples
	env []string // of her shells
}

// newUser comes with an empty home, and with the programs that the page has built.
func newUser(t *testing.T, programs string, env ...string) *user {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "server"), 0o750))
	return &user{t, dir, append(env, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir,
		"TMPDIR="+dir)}
}

// typed is a shell with what was typed into it.
type typed struct {
	text string
	cmd  *exec.Cmd
	out  string // the file of its output
	done chan struct{}
}

// watchdog ends all that a shell has started when the test ends, however that ends: then nobody holds the other end of
// its pipe any more. It ignores ctrl-c, as what a shell runs in the background does.
const watchdog = "(cat <&3 >/dev/null; kill -s KILL -- -$$) &\nexec 3<&-\nset -e\n"

// types has a shell run a text in a folder, and does not wait for it.
func (u *user) types(dir, text string) (*typed, error) {
	out, err := os.CreateTemp(u.t.TempDir(), "output-")
	if err != nil {
		return nil, err
	}
	defer out.Close()
	watched, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	alive, theirs, err := os.Pipe() // ends when the last process that has inherited it has ended
	if err != nil {
		return nil, errors.Join(err, watched.Close(), held.Close())
	}
	p := &typed{text, exec.Command("sh", "-c", watchdog+text), out.Name(), make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = dir, u.env, out, out,
		[]*os.File{watched, theirs}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(p.cmd.Start(), watched.Close(), theirs.Close()); err != nil {
		return nil, errors.Join(err, held.Close(), alive.Close())
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // who cares looks at ProcessState
	}()
	u.t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // its watchdog at least is there
		<-p.done
		_, _ = io.Copy(io.Discard, alive) // folders are removed next: nobody may write there any more
		_ = errors.Join(held.Close(), alive.Close())
		if u.t.Failed() {
			u.t.Logf("$ %s\n%s", text, p.said())
		}
	})
	return p, nil
}

// said is what was printed so far.
func (p *typed) said() string {
	b, err := os.ReadFile(p.out)
	if err != nil {
		return err.Error()
	}
	const most = 4000
	if len(b) > most {
		b = append(b[:most/2:most/2], append([]byte("\n[…]\n"), b[len(b)-most/2:]...)...)
	}
	return string(b)
}

// failed tells that a shell has ended, and not well.
func (p *typed) failed() error {
	select {
	case <-p.done:
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("%q: %s: %s", p.text, p.cmd.ProcessState, p.said())
		}
	default:
	}
	return nil
}

// end waits until a shell has ended, and wants it to have ended well.
func (p *typed) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-p.done:
		return p.failed()
	case <-ctx.Done():
		return fmt.Errorf("%q does not end: %s", p.text, p.said())
	}
}

// asks runs a command to its end and returns what it printed on its standard output; an error if it did not end well.
func (u *user) asks(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "set -e\n"+text)
	cmd.Dir, cmd.Env = u.dir, u.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%q: %w: %s%s", text, err, out, stderr.String())
	}
	return string(out), nil
}
