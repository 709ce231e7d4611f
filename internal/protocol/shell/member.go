package shell

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// ErrStopped answers proposals of a member that is not running any more; their outcome is unknown.
var ErrStopped = errors.New("the member has stopped")

// State is the state of a protocol's step, as far as the shell looks at it.
type State interface {
	// Value is the newest value that the member has.
	Value() cluster.Value
	// Assigned is the newest assignment.
	Assigned() protocol.Assignment
	// Tenure is the incarnation in which the member is joined, and until when it may act; zero while it is not.
	Tenure() (cluster.Incarnation, protocol.Instant)
	// Status is what the state says of the membership; the shell adds LeaseMS.
	Status() protocol.Status
}

// Caller makes store calls and turns their answers into events. It decides nothing. A simulated member has the same
// one, with a simulated store and clock.
type Caller interface {
	// Call makes the call of an effect; nil for an effect that is not answered. It may be called from any goroutine.
	Call(ctx context.Context, e member.Effect) member.Event
	// Timeout is how long the call of an effect may take.
	Timeout(e member.Effect) time.Duration
	// Close removes the member's heartbeat after it has left or halted.
	Close(ctx context.Context)
}

// Machine is a protocol as the shell drives it.
type Machine[S State] struct {
	Start S
	Step  func(*S, member.Event) []member.Effect
	// Caller makes the caller of the run, once.
	Caller Caller
	// Watched is what the store is asked to hint at in a state: prefixes of documents, and the log or not.
	Watched func(S) (prefixes []string, log bool)
}

// Member is one member under a protocol with states S. Its methods may be called from any goroutine; Run once.
type Member[S State] struct {
	c     protocol.Config
	p     member.Params
	m     Machine[S]
	inbox chan member.Event
	out   chan protocol.Assignment
	over  chan struct{} // closed when Run is about to return

	mu       sync.Mutex
	state    S // after the last step
	waiting  map[uint64]chan member.Reply
	nextID   uint64
	reportMu sync.Mutex
}

// New checks a config against a protocol and makes a member; Run starts it. The machine is that of the config with all
// that it leaves out.
func New[S State](c protocol.Config, pr protocol.Protocol,
	machine func(protocol.Config, member.Params) Machine[S]) (*Member[S], error) {
	c = defaults(c)
	if err := check(c, pr); err != nil {
		return nil, err
	}
	p := params(c)
	m := machine(c, p)
	return &Member[S]{
		c: c, p: p, m: m, inbox: make(chan member.Event, 64), out: make(chan protocol.Assignment, 1),
		over:  make(chan struct{}),
		state: m.Start, waiting: make(map[uint64]chan member.Reply),
	}, nil
}

// Assignments implements protocol.Member.
func (r *Member[S]) Assignments() <-chan protocol.Assignment { return r.out }

// Report implements protocol.Member.
func (r *Member[S]) Report(version uint64, reports []protocol.Report) {
	r.reportMu.Lock() // reports must not overtake each other
	defer r.reportMu.Unlock()
	r.post(member.Reported{Now: r.c.Clock(), Version: version, Reports: reports})
}

// Propose implements protocol.Member.
func (r *Member[S]) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	for _, c := range commands {
		if err := cluster.CheckCommand(c); err != nil {
			return nil, fmt.Errorf("propose: %w", err)
		}
	}
	if len(commands) == 0 {
		return nil, nil
	}
	id, reply := r.expect()
	defer r.forget(id)
	if !r.post(member.Proposed{Now: r.c.Clock(), ID: id, Commands: commands}) {
		return nil, fmt.Errorf("propose: %w", ErrStopped)
	}
	select {
	case a := <-reply:
		return a.Results, failure(a)
	case <-ctx.Done():
		return nil, fmt.Errorf("propose: outcome unknown: %w", context.Cause(ctx))
	case <-r.over:
		return nil, fmt.Errorf("propose: outcome unknown: %w", ErrStopped)
	}
}

// failure is why a proposal was not done, or that nobody knows whether it was; nil where it was done.
func failure(e member.Reply) error {
	switch {
	case e.Unknown:
		return fmt.Errorf("propose: outcome unknown: %s", e.Err)
	case e.Err != "":
		return fmt.Errorf("propose: %s", e.Err)
	}
	return nil
}

func (r *Member[S]) expect() (uint64, chan member.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextID++
	ch := make(chan member.Reply, 1)
	r.waiting[r.nextID] = ch
	return r.nextID, ch
}

func (r *Member[S]) forget(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, id)
}

// present is the state after the last step.
func (r *Member[S]) present() S {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Value implements protocol.View.
func (r *Member[S]) Value() cluster.Value { return r.present().Value() }

// Tenure implements protocol.View.
func (r *Member[S]) Tenure() (cluster.Incarnation, protocol.Instant) { return r.present().Tenure() }

// Status implements protocol.View.
func (r *Member[S]) Status() protocol.Status {
	s := r.present()
	st := s.Status()
	if left := s.Assigned().ValidUntil.Sub(r.c.Clock()); left > 0 {
		st.LeaseMS = left.Milliseconds()
	}
	return st
}

// post gives an event to the loop; false when that is over.
func (r *Member[S]) post(ev member.Event) bool {
	select {
	case r.inbox <- ev:
		return true
	case <-r.over:
		return false
	}
}
