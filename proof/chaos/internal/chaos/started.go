package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/protocol"
)

// started is one start of a member. Its fields belong to the goroutine that plays.
type started struct {
	*process.Process
	name     string
	number   uint64 // of this start: the incarnation in the history
	log      string
	witness  process.Witness
	asleep   bool
	traced   bool
	leaving  bool
	left     protocol.Instant // when it was told to leave
	expected bool             // its end
	seen     bool             // its end was taken note of
}

// start starts a member under a name.
func (c *Cluster) start(name string) (*started, error) {
	return c.launch(name, "--label", "chaos=yes", c.taskDir())
}

func (c *Cluster) launch(name string, args ...string) (*started, error) {
	c.starts++
	base := filepath.Join(c.dir, fmt.Sprintf("%s.%d", name, c.starts))
	p := &started{name: name, number: c.starts, log: base + ".log",
		witness: process.Witness{Path: base + ".witness", Incarnation: c.starts}}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return nil, fmt.Errorf("start member %s: %w", name, err)
	}
	defer log.Close()
	cmd := exec.Command(c.options.Binary, "run", "--store", c.storeText(), "--member", name, "--ttl",
		c.options.TTL.String(),
		"--witness", p.witness.Path, "--publish", "none", "--listen", "none", "--log-level", "info", "--drain-timeout",
		"3s", "--dev-types")
	cmd.Args = append(cmd.Args, args...)
	if c.options.Protocol != "" {
		cmd.Args = append(cmd.Args, "--protocol", c.options.Protocol)
	}
	if c.options.Unguarded {
		cmd.Args = append(cmd.Args, "--guardian=false")
	}
	if c.options.NoSessions {
		cmd.Args = append(cmd.Args, "--no-sessions")
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROTA_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	c.note(history.Record{At: int64(protocol.Now()), Kind: history.Began, Member: cluster.MemberID(name),
		Incarnation: p.number})
	if p.Process, err = process.Start(cmd); err != nil {
		return nil, fmt.Errorf("member %s: %w", name, err)
	}
	c.processes = append(c.processes, p)
	return p, nil
}

func (p *started) member() cluster.MemberID { return cluster.MemberID(p.name) }

// does notes that something is done to a process, at the instant right before it is done.
func (c *Cluster) does(p *started, k history.Kind) {
	c.note(history.Record{At: int64(protocol.Now()), Kind: k, Member: p.member(), Incarnation: p.number})
}

// killProcesses is kill -9 of all of them at once, and waits until the processes are gone.
func (c *Cluster) killProcesses(processes ...*started) error {
	for _, p := range processes {
		p.expected, p.seen = true, true
		c.does(p, history.Killed)
		if err := ignoreEnd(p.Signal(os.Kill)); err != nil {
			return fmt.Errorf("kill %s: %w", p.name, err)
		}
	}
	for _, p := range processes {
		<-p.Done()
	}
	return nil
}

// ignoreEnd drops the error that says that the process has ended.
func ignoreEnd(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// suspend stops a process, or finds that it has ended, and reports whether it holds a lock that others need for
// writing.
func (c *Cluster) suspend(p *started) (holds bool, err error) {
	c.does(p, history.Suspended)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := process.Stop(ctx, p.PID()); err != nil {
		return false, fmt.Errorf("member %s: %w", p.name, err)
	}
	p.asleep = true
	return c.options.Server == nil && holdsTurn(p.PID(), c.storeDir()), nil
}

func (c *Cluster) wake(p *started) error {
	if p.Ended() || !p.asleep {
		return nil
	}
	c.does(p, history.Resumed)
	p.asleep = false
	if err := process.Continue(p.PID()); err != nil && !p.Ended() {
		return fmt.Errorf("member %s: %w", p.name, err)
	}
	return nil
}

// dismiss sends SIGTERM.
func (c *Cluster) dismiss(p *started) error {
	p.leaving, p.expected, p.left = true, true, c.now()
	c.does(p, history.Left)
	if err := ignoreEnd(p.Signal(syscall.SIGTERM)); err != nil {
		return fmt.Errorf("end %s: %w", p.name, err)
	}
	return nil
}

// reap takes note of processes that have ended by themselves.
func (c *Cluster) reap() {
	for _, p := range c.processes {
		if p.seen || !p.Ended() {
			continue
		}
		p.seen = true
		c.does(p, history.Exited)
		if p.name != probeName && (!p.expected || p.Err() != nil && !c.couldNotLeave(p)) {
			c.surprises = append(c.surprises, fmt.Sprintf("%s (start %d) ended by itself: %v: %s", p.name, p.number,
				p.Err(), p.lastWords()))
			c.say("! %s", c.surprises[len(c.surprises)-1])
		}
	}
}

// couldNotLeave reports whether nobody could write while a member was to leave: its error says so, and it is right.
func (c *Cluster) couldNotLeave(p *started) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.leaving && (c.away ||
		slices.ContainsFunc(c.excused, func(s history.Span) bool { return s.To >= int64(p.left) }))
}

// lastWords is the end of its log.
func (p *started) lastWords() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-3):], []byte(" | ")))
}

// readWitness takes in what the process has written down since the last look.
func (c *Cluster) readWitness(p *started) error {
	records, err := p.witness.Next()
	if err != nil {
		return err
	}
	for _, r := range records {
		c.note(r)
		switch r.Kind {
		case history.Started:
			c.running[r.Partition] = append(c.running[r.Partition], running{p, r.Token})
		case history.Stopped:
			c.running[r.Partition] = slices.DeleteFunc(c.running[r.Partition],
				func(at running) bool { return at == running{p, r.Token} })
		}
	}
	return nil
}

// holdsTurn reports whether a process holds one of the locks that a writer of the store takes: then nobody else can
// write.
func holdsTurn(pid int, store string) bool {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	for _, name := range []string{"turn.lock", "queue.lock"} {
		inode, ok := inodeOf(filepath.Join(store, name))
		if !ok {
			continue
		}
		for line := range strings.Lines(string(locks)) {
			f := strings.Fields(line)
			if len(f) >= 6 && f[1] == "FLOCK" && f[4] == fmt.Sprint(pid) && strings.HasSuffix(f[5], ":"+inode) {
				return true
			}
		}
	}
	return false
}

func inodeOf(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return fmt.Sprint(st.Ino), true
}
