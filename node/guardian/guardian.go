package guardian

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/node/guarding"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/tasks/program"
)

// ErrUnsupported says that there are guardians on Linux alone, since version 5.3.
var ErrUnsupported = errors.New("there are guardians on Linux alone, since version 5.3")

// On is the state of a member that has a guardian.
const On = "on"

// Opener opens the store in which the sessions are. It is called in the child, when the parent has died.
type Opener func(ctx context.Context, place string) (Store, error)

// Store is what the child needs of a store.
type Store interface {
	store.Store
	store.SessionEnder
}

// Children starts child processes and waits for them; program.Room is one.
type Children interface {
	Start(cmd *exec.Cmd) error
	Wait(cmd *exec.Cmd) error
}

// Options of [Start].
type Options struct {
	Name     string        // of the member, for lists of processes
	Place    string        // where the store is; what the child's Opener gets
	TTL      time.Duration // of the member; default 10 s
	Programs program.Place // of the programs to end first; the zero value for none
	Children Children      // default: the process starts its children by os/exec alone
	Logger   *slog.Logger  // default: discard
}

// Guardian is the parent's end. Its methods may be called from any goroutine.
type Guardian struct {
	o    Options
	done chan struct{} // closed by Close
	wg   sync.WaitGroup

	mu       sync.Mutex
	sessions map[store.EndKey]uint64 // their numbers in the book
	book     guarding.Book[store.EndKey]
	line     *line  // to the child; nil while there is none
	state    string // On, or why there is none
	closed   bool
}

// restartPause is before a lost guardian is started again.
const restartPause = time.Second

// Start starts a guardian of this process.
func Start(o Options) (*Guardian, error) {
	g := newGuardian(o)
	c, err := g.begin()
	if err != nil {
		return nil, err
	}
	g.wg.Go(func() { g.keep(c) })
	return g, nil
}

func newGuardian(o Options) *Guardian {
	o.TTL = cmp.Or(o.TTL, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Children == nil {
		o.Children = plain{}
	}
	return &Guardian{o: o, done: make(chan struct{}), sessions: make(map[store.EndKey]uint64), state: "starting"}
}

// plain is os/exec.
type plain struct{}

// Start implements Children.
func (plain) Start(cmd *exec.Cmd) error { return cmd.Start() }

// Wait implements Children.
func (plain) Wait(cmd *exec.Cmd) error { return cmd.Wait() }

// keep starts the child again when it has ended.
func (g *Guardian) keep(c *child) {
	for {
		err := c.wait(g.o.Children)
		if g.lost(err) {
			return
		}
		g.o.Logger.Warn("the guardian has ended; it is started again, and until then the TTL holds", "err", err)
		for c = nil; c == nil; {
			select {
			case <-g.done:
				return
			case <-time.After(restartPause):
			}
			if c, err = g.begin(); err != nil {
				g.fail(err)
			}
		}
	}
}

// lost notes that there is no child; over says that there shall be none.
func (g *Guardian) lost(err error) (over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line != nil {
		g.line.close()
	}
	g.line, g.state = nil, "lost"
	if err != nil {
		g.state = "lost: " + err.Error()
	}
	return g.closed
}

func (g *Guardian) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = "none: " + err.Error()
}

// begin starts a child and tells it all that there is to guard.
func (g *Guardian) begin() (*child, error) {
	c, err := start(g.o)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.line = c.line
	if err = g.tellAll(c.line); err != nil {
		g.line.close()
		g.line = nil
		err = errors.Join(err, c.kill(g.o.Children))
	}
	g.wg.Go(func() { g.greet(c) })
	if err != nil {
		return nil, err
	}
	return c, nil
}

// tellAll tells a new child where the store is, and all that there is to guard.
func (g *Guardian) tellAll(l *line) error {
	err := l.send(message{Place: g.o.Place, Programs: g.o.Programs, Hold: heartbeat.Slowest * g.o.TTL}, nil)
	for _, h := range g.book.Held() {
		err = errors.Join(err, l.send(message{Guard: h.ID, Key: h.Key.Text}, h.Key.File))
	}
	return err
}

// greet waits until the child says that it watches.
func (g *Guardian) greet(c *child) {
	if !c.line.ready() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line == c.line {
		g.state = On
	}
}

// Guard implements protocol.Guard.
func (g *Guardian) Guard(k store.EndKey) {
	if k == (store.EndKey{}) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	book, h := g.book.Guard(k)
	g.book, g.sessions[k] = book, h.ID
	g.tell(message{Guard: h.ID, Key: h.Key.Text}, h.Key.File)
}

// Release implements protocol.Guard.
func (g *Guardian) Release(k store.EndKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.sessions[k]
	if !ok {
		return
	}
	delete(g.sessions, k)
	g.book = g.book.Release(id)
	g.tell(message{Release: id}, nil)
}

// tell sends a message. A child that takes none is given up: keep starts another, which is told all.
func (g *Guardian) tell(m message, file *os.File) {
	if g.line == nil {
		return
	}
	if err := g.line.send(m, file); err != nil {
		g.o.Logger.Warn("the guardian takes no message; it is ended and started again", "err", err)
		g.line.give()
	}
}

// State implements protocol.Guard.
func (g *Guardian) State() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

// PID is the process id of the child; 0 for none. For tests and for people.
func (g *Guardian) PID() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line == nil {
		return 0
	}
	return g.line.pid
}

// Close dismisses the child and waits until it has ended. One that still guards a session, because the store did not
// take its end, goes on: it ends that session when this process has ended, and nobody waits for it. A second call does
// nothing.
func (g *Guardian) Close() {
	g.mu.Lock()
	first := !g.closed
	g.closed = true
	goesOn := g.line != nil && len(g.book.Held()) > 0
	switch {
	case !first || g.line == nil:
	case goesOn:
		g.line.close()
	case g.line.send(message{Dismiss: true}, nil) != nil:
		g.line.give()
	}
	g.mu.Unlock()
	if first {
		close(g.done)
	}
	if !goesOn {
		g.wg.Wait()
	}
}

// message is what the parent tells. Each is one packet; the file of a session goes with it.
type message struct {
	Place    string        `json:"place,omitempty"` // the first message: where the store is
	Programs program.Place `json:"programs,omitzero"`
	Hold     time.Duration `json:"hold,omitempty"`    // how long a session is kept alive if a program may be left
	Guard    uint64        `json:"guard,omitempty"`   // the number of a session to end
	Key      string        `json:"key,omitempty"`     // its key
	Release  uint64        `json:"release,omitempty"` // the number of a session that the parent ends itself
	Dismiss  bool          `json:"dismiss,omitempty"` // there is nothing left to guard
}

// maxMessage is more than any key needs.
const maxMessage = 64 << 10

func (m message) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err == nil && len(b) > maxMessage {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("tell the guardian: %w", err)
	}
	return b, nil
}

// charge is what the child knows of its parent.
type charge struct {
	guarding.State
	place    string
	programs program.Place
	hold     time.Duration
}

// take takes in a message. What cannot be read is passed over: a guardian does only what it was told.
func (c *charge) take(packet []byte) (guard, release uint64) {
	var m message
	if json.Unmarshal(packet, &m) != nil {
		return 0, 0
	}
	if m.Place != "" || m.Programs != (program.Place{}) {
		c.place, c.programs, c.hold = m.Place, m.Programs, m.Hold
	}
	if m.Guard != 0 {
		c.State = c.Guard(guarding.Held[string]{ID: m.Guard, Key: m.Key})
	}
	if m.Release != 0 {
		c.State = c.State.Release(m.Release)
	}
	if m.Dismiss {
		c.State = c.State.Dismiss()
	}
	return m.Guard, m.Release
}
