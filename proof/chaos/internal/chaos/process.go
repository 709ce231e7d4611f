package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/sim/history"
)

// process is one start of a member. Its fields belong to the goroutine that plays, but for those that say otherwise.
type process struct {
	name     string
	number   uint64 // of this start: the incarnation in the history
	cmd      *exec.Cmd
	log      string
	witness  string
	read     int64         // bytes of the witness that were taken in
	done     chan struct{} // closed when it has ended
	err      error         // how; read it when done is closed
	asleep   bool
	traced   bool
	leaving  bool
	expected bool // its end
	seen     bool // its end was taken note of
}

// start starts a member under a name.
func (c *Cluster) start(name string) (*process, error) {
	return c.launch(name, "--label", "chaos=yes", c.taskDir())
}

func (c *Cluster) launch(name string, args ...string) (*process, error) {
	c.starts++
	p := &process{name: name, number: c.starts, done: make(chan struct{})}
	base := filepath.Join(c.dir, fmt.Sprintf("%s.%d", name, p.number))
	p.log, p.witness = base+".log", base+".witness"
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return nil, fmt.Errorf("start member %s: %w", name, err)
	}
	p.cmd = exec.Command(c.options.Binary, "run", "--store", c.storeText(), "--member", name, "--ttl", c.options.TTL.String(),
		"--witness", p.witness, "--publish", "none", "--listen", "none", "--log-level", "info", "--drain-timeout", "3s", "--dev-types")
	p.cmd.Args = append(p.cmd.Args, args...)
	if c.options.NoSessions {
		p.cmd.Args = append(p.cmd.Args, "--no-sessions")
	}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = c.dir, log, log, attributes()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROTA_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	c.note(history.Record{At: int64(protocol.Now()), Kind: history.Began, Member: cluster.MemberID(name), Incarnation: p.number})
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start member %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		log.Close()
		close(p.done)
	}()
	c.processes = append(c.processes, p)
	return p, nil
}

// ended tells whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) member() cluster.MemberID { return cluster.MemberID(p.name) }

// does notes that something is done to a process, at the instant right before it is done.
func (c *Cluster) does(p *process, k history.Kind) {
	c.note(history.Record{At: int64(protocol.Now()), Kind: k, Member: p.member(), Incarnation: p.number})
}

// murder is kill -9, and waits until the processes are gone.
func (c *Cluster) murder(processes ...*process) error {
	for _, p := range processes {
		p.expected, p.seen = true, true
		c.does(p, history.Killed)
		if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill %s: %w", p.name, err)
		}
	}
	for _, p := range processes {
		<-p.done
	}
	return nil
}

// suspend sends SIGSTOP, waits until the process stands still, and tells whether it holds a lock that others need for writing.
func (c *Cluster) suspend(p *process) (holds bool, err error) {
	c.does(p, history.Suspended)
	if err := p.cmd.Process.Signal(sigStop); err != nil {
		return false, fmt.Errorf("suspend %s: %w", p.name, err)
	}
	p.asleep = true
	pid := p.cmd.Process.Pid
	if !c.await("the process stands still", func() bool { return p.ended() || stands(pid) }) {
		return false, fmt.Errorf("suspend %s: it does not stand still", p.name)
	}
	return c.options.Server == nil && holdsTurn(pid, c.storeDir()), nil
}

func (c *Cluster) wake(p *process) error {
	if p.ended() || !p.asleep {
		return nil
	}
	c.does(p, history.Resumed)
	p.asleep = false
	if err := p.cmd.Process.Signal(sigCont); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("wake %s: %w", p.name, err)
	}
	return nil
}

// dismiss sends SIGTERM.
func (c *Cluster) dismiss(p *process) error {
	p.leaving, p.expected = true, true
	c.does(p, history.Left)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.name, err)
	}
	return nil
}

// reap takes note of processes that have ended by themselves.
func (c *Cluster) reap() {
	for _, p := range c.processes {
		if p.seen || !p.ended() {
			continue
		}
		p.seen = true
		c.does(p, history.Exited)
		if p.name != probeName && (!p.expected || p.err != nil) {
			c.surprises = append(c.surprises, fmt.Sprintf("%s (start %d) ended by itself: %v: %s", p.name, p.number, p.err, p.lastWords()))
			c.say("! %s", c.surprises[len(c.surprises)-1])
		}
	}
}

// lastWords is the end of its log.
func (p *process) lastWords() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-3):], []byte(" | ")))
}

// readWitness takes in what the process has written down since the last look.
func (c *Cluster) readWitness(p *process) error {
	f, err := os.Open(p.witness)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a witness: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, p.read, 1<<30))
	if err != nil {
		return fmt.Errorf("read a witness: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	records, _, err := history.ReadLines(data, p.number)
	if err != nil {
		return fmt.Errorf("%s: %w", p.witness, err)
	}
	p.read += int64(len(data))
	for _, r := range records {
		c.note(r)
		switch r.Kind {
		case history.Started:
			if r.Token >= c.running[r.Partition].token { // files are read one after the other: a former owner's may be the later one
				c.running[r.Partition] = running{p, r.Token}
			}
		case history.Stopped:
			if at, ok := c.running[r.Partition]; ok && at.process == p && at.token == r.Token {
				delete(c.running, r.Partition)
			}
		}
	}
	return nil
}
