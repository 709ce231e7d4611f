package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/rota-run/rota/internal/store/handle"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

var _ member = (*process)(nil)

// process is a member in a process of its own.
type process struct {
	play  *Play
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
	how   error         // written before that
}

// startProcess starts the binary. It closes the log when the process has ended; not if there is an error.
func (p *Play) startProcess(args []string, log *os.File) (*process, error) {
	cmd := exec.Command(p.binary, append([]string{"run"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.dir, log, log, attributes()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROTA_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m := &process{play: p, cmd: cmd, ended: make(chan struct{})}
	go func() {
		m.how = cmd.Wait()
		log.Close()
		close(m.ended)
	}()
	return m, nil
}

func (m *process) done() <-chan struct{} { return m.ended }
func (m *process) err() error            { return m.how }

func (m *process) crash() (protocol.Instant, error) { return m.signal(syscall.SIGKILL) }
func (m *process) leave() (protocol.Instant, error) { return m.signal(syscall.SIGTERM) }

func (m *process) resume() error {
	_, err := m.signal(sigCont)
	return err
}

// signal sends a signal and returns an instant right before.
func (m *process) signal(s syscall.Signal) (protocol.Instant, error) {
	at := protocol.Now()
	if err := m.cmd.Process.Signal(s); err != nil {
		return at, fmt.Errorf("send %s: %w", s, err)
	}
	return at, nil
}

// suspend implements member. In the middle of a write to a directory it would keep all others from writing, so there it
// goes on for a moment first.
func (m *process) suspend(ctx context.Context) (at protocol.Instant, err error) {
	place, isFile := strings.CutPrefix(m.play.server().Store, "file:")
	dir, _, _ := strings.Cut(place, "?")
	err = m.play.await(ctx, "the member stands still, and not in the middle of a write", func() (bool, error) {
		var err error
		if at, err = m.signal(sigStop); err != nil {
			return false, err
		}
		if err := m.play.await(ctx, "the member stands still", m.stands); err != nil || !isFile || nobodyWrites(dir) {
			return true, err
		}
		return false, m.resume()
	})
	return at, err
}

// stands tells whether it stands still; an error if it has ended.
func (m *process) stands() (bool, error) {
	select {
	case <-m.ended:
		return false, fmt.Errorf("it has ended: %s", m.cmd.ProcessState)
	default:
		return StandsStill(m.cmd.Process.Pid), nil
	}
}

var _ member = (*insider)(nil)

// Inside says how members run inside this process.
type Inside struct {
	Store *memory.Server // where they meet
	// Run is one member: it does what rota run does with these arguments, but on this handle, which stays the caller's,
	// and without listening for signals. When ctx ends it leaves gracefully. It returns when nothing of it is left.
	Run func(ctx context.Context, args []string, on store.Full, log io.Writer) error
}

// insider is a member inside this process. Goroutines can't be killed or suspended from outside; what stands for that
// is done to its handle.
type insider struct {
	on    *handle.Handle
	end   context.CancelFunc
	ended chan struct{} // closed when it has ended
	how   error         // written before that
}

// startInsider starts a member with a handle of its own. It closes handle and log when the member has ended.
func startInsider(in *Inside, args []string, log *os.File) *insider {
	ctx, end := context.WithCancel(context.Background())
	m := &insider{on: handle.New(in.Store.Open()), end: end, ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		defer log.Close()
		defer end()
		m.how = errors.Join(in.Run(ctx, args, m.on, log), m.on.Close())
	}()
	return m
}

func (m *insider) done() <-chan struct{} { return m.ended }
func (m *insider) err() error            { return m.how }

// crash implements member: it loses the store, ends itself for that, and then its handle falls. The handle falls last
// because tasks that can't be killed would else go on for a moment after others have seen their owner die, which no
// process does.
func (m *insider) crash() (protocol.Instant, error) {
	at := protocol.Now()
	m.on.Lose()
	return at, nil
}

// suspend implements member: all its calls wait from now on.
func (m *insider) suspend(context.Context) (protocol.Instant, error) {
	at := protocol.Now()
	m.on.Freeze()
	return at, nil
}

func (m *insider) resume() error {
	m.on.Thaw()
	return nil
}

func (m *insider) leave() (protocol.Instant, error) {
	at := protocol.Now()
	m.end()
	return at, nil
}
