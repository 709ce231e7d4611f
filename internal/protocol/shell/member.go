// Package shell runs one member of any protocol: it feeds events to the protocol's pure step, and has the effects done
// that the step asks for.
//
// # Purpose
//
// A protocol decides in a function without side effects: from a state and an event to another state and effects. What
// is around that function is the same for all of them, and is here: the loop, the store calls on goroutines of their
// own, the watches, the alarm clock, the answers to those who propose, the callbacks, the end. The events and effects
// that every protocol has are types of package member.
//
// # State
//
//	inbox ──→ Step ──→ state ──→ what is watched follows from it
//	  ↑         └────→ effects ──┬─ Assign, Reply, Applying, ...: done here, at once
//	  │                          └─ calls: each on its own goroutine
//	  └── the event that answers a call, a hint, a report, a proposal, the clock
//
// # Guarantees
//
//   - Step is called by one goroutine, one event after the other.
//   - Callbacks (protocol.Events) come from that goroutine, in order. An assignment that nobody has taken is replaced
//     by a newer one.
//   - What the state asks to watch is watched before the calls of the same step are sent, so that no change falls
//     between a read and its watch.
//   - A store that hints, but refuses a watch, is asked by the clock.
//   - When Run returns, its goroutines have ended, and the member's own heartbeat was removed where the store let it.
//
// # What is not guaranteed
//
// That hints come, or come once. A step must look by the clock as well.
//
// # Failures
//
// A store call has a time limit of its own ([Caller]); its event says what became of it. A member that cannot leave
// within Config.LeaveTimeout ends with an error. A proposal whose member ends first has an unknown outcome:
// [ErrStopped].
package shell

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
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
	state    S        // after the last step
	waiting  sync.Map // proposals: by ID, a chan member.Reply with room for one
	nextID   atomic.Uint64
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
		over: make(chan struct{}), state: m.Start,
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
	id, reply := r.nextID.Add(1), make(chan member.Reply, 1)
	r.waiting.Store(id, reply)
	defer r.waiting.Delete(id)
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

// minTTL keeps the poll interval above the round trip of a store.
const minTTL = 300 * time.Millisecond

// defaults is a config with all that it leaves out.
func defaults(c protocol.Config) protocol.Config {
	c.TTL = cmp.Or(c.TTL, 10*time.Second)
	c.Hold = cmp.Or(c.Hold, time.Minute)
	c.LeaveTimeout = cmp.Or(c.LeaveTimeout, c.TTL)
	c.SnapshotEvery = cmp.Or(c.SnapshotEvery, 2000)
	if c.Clock == nil {
		c.Clock = protocol.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// check returns why a config cannot be one of a member under a protocol; nil if it can.
func check(c protocol.Config, p protocol.Protocol) error {
	var faults []error
	if c.Store == nil {
		faults = append(faults, errors.New("no store"))
	} else if err := p.Fits(c.Store); err != nil {
		faults = append(faults, err)
	}
	if c.TTL < minTTL {
		faults = append(faults, fmt.Errorf("the TTL %s is below %s", c.TTL, minTTL))
	}
	if c.TTL > heartbeat.MaxTTL {
		faults = append(faults, fmt.Errorf("the TTL %s is above %s: for so long nobody would take the tasks of a dead member", c.TTL, heartbeat.MaxTTL))
	}
	join := join(c)
	join.Heartbeat = protocol.HeartbeatPrefix
	if err := cluster.CheckCommand(join); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// params are those of one start of a member that all protocols share.
func params(c protocol.Config) member.Params {
	p := member.Params{
		Member: c.Member, Join: join(c), Restart: c.Restart, SnapshotEvery: c.SnapshotEvery, Nonce: Nonce(),
		Timing: heartbeat.Timing{TTL: c.TTL, Longest: min(heartbeat.Slowest*c.TTL, heartbeat.MaxTTL), Rho: 50,
			Margin: c.TTL / 20},
		Poll: min(c.TTL/20, time.Second), Hold: c.Hold,
	}
	_, p.Hints.Log = c.Store.(store.LogWatcher)
	_, p.Hints.Docs = c.Store.(store.Watcher)
	p.Hints.Ends = p.Hints.Docs && !c.NoSessions
	sessions, ok := c.Store.(store.Sessions)
	p.Hints.Vanish = p.Hints.Ends && ok && sessions.SessionsExpire()
	return p
}

// join is what a member says of itself when it joins.
func join(c protocol.Config) cluster.PrepareJoin {
	return cluster.PrepareJoin{
		Member: c.Member, Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity, Labels: c.Labels, Address: c.Address,
		Version: c.Version,
	}
}

// Nonce distinguishes starts of processes.
func Nonce() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
