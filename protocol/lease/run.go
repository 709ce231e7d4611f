package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// ErrStopped answers proposals of a member that is not running any more; their outcome is unknown.
var ErrStopped = errors.New("the member has stopped")

// Lease is one member under this protocol. Its methods may be called from any goroutine; Run once.
type Lease struct {
	c     protocol.Config
	p     Params
	inbox chan Event
	out   chan protocol.Assignment
	over  chan struct{} // closed when Run is about to return

	mu       sync.Mutex
	state    State // after the last step
	waiting  map[uint64]chan Reply
	nextID   uint64
	reportMu sync.Mutex
}

var _ protocol.Member = (*Lease)(nil)

// New checks the config and makes a member; Run starts it.
func New(c protocol.Config) (*Lease, error) {
	c = withDefaults(c)
	if err := validate(c); err != nil {
		return nil, err
	}
	return &Lease{
		c: c, p: params(c, newNonce()), inbox: make(chan Event, 64), out: make(chan protocol.Assignment, 1),
		over: make(chan struct{}), waiting: make(map[uint64]chan Reply),
	}, nil
}

// Run implements protocol.Member: it takes part until ctx ends, then leaves in order, within Config.LeaveTimeout.
func (l *Lease) Run(ctx context.Context) error {
	calls, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	sh := &shell{l: l, ctx: calls, calls: &Caller{
		Member: l.c.Member, Store: l.c.Store, TTL: l.c.TTL, NoSessions: l.c.NoSessions, Logger: l.c.Logger, Now: l.c.Clock, Wall: time.Now,
	}}
	err := sh.loop(ctx)
	close(l.over)
	cancel(ErrStopped)
	sh.wg.Wait()
	last, end := context.WithTimeout(context.Background(), l.p.TTL/3)
	defer end()
	sh.calls.Close(last)
	close(l.out)
	return err
}

// Assignments implements protocol.Member.
func (l *Lease) Assignments() <-chan protocol.Assignment { return l.out }

// Report implements protocol.Member.
func (l *Lease) Report(version uint64, reports []protocol.Report) {
	l.reportMu.Lock() // reports must not overtake each other
	defer l.reportMu.Unlock()
	l.post(Reported{Now: l.c.Clock(), Version: version, Reports: reports})
}

// Propose implements protocol.Member. It returns when the documents that decide the commands were written.
func (l *Lease) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	for _, c := range commands {
		if err := cluster.CheckCommand(c); err != nil {
			return nil, fmt.Errorf("propose: %w", err)
		}
	}
	if len(commands) == 0 {
		return nil, nil
	}
	id, reply := l.expect()
	defer l.forget(id)
	if !l.post(Proposed{Now: l.c.Clock(), ID: id, Commands: commands}) {
		return nil, fmt.Errorf("propose: %w", ErrStopped)
	}
	select {
	case a := <-reply:
		return a.Results, a.err()
	case <-ctx.Done():
		return nil, fmt.Errorf("propose: outcome unknown: %w", context.Cause(ctx))
	case <-l.over:
		return nil, fmt.Errorf("propose: outcome unknown: %w", ErrStopped)
	}
}

func (r Reply) err() error {
	switch {
	case r.Unknown:
		return fmt.Errorf("propose: outcome unknown: %s", r.Err)
	case r.Err != "":
		return fmt.Errorf("propose: %s", r.Err)
	}
	return nil
}

func (l *Lease) expect() (uint64, chan Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nextID++
	ch := make(chan Reply, 1)
	l.waiting[l.nextID] = ch
	return l.nextID, ch
}

func (l *Lease) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, id)
}

// present is the state after the last step.
func (l *Lease) present() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Value implements protocol.View.
func (l *Lease) Value() cluster.Value { return l.present().value }

// Tenure implements protocol.View.
func (l *Lease) Tenure() (cluster.Incarnation, protocol.Instant) {
	s := l.present()
	if s.phase != phaseMember {
		return 0, 0
	}
	return s.inc, s.beat.Until(s.p.timing())
}

// Status implements protocol.View.
func (l *Lease) Status() protocol.Status {
	s := l.present()
	st := protocol.Status{Joined: s.phase == phaseMember, StoreError: s.problem, Pending: len(s.queue)}
	if left := s.assigned.TrustUntil.Sub(l.c.Clock()); left > 0 {
		st.TrustMS = left.Milliseconds()
	}
	return st
}

// post gives an event to the loop; false when that is over.
func (l *Lease) post(ev Event) bool {
	select {
	case l.inbox <- ev:
		return true
	case <-l.over:
		return false
	}
}

// shell does the effects of one Run.
type shell struct {
	l       *Lease
	ctx     context.Context // of store calls
	wg      sync.WaitGroup
	calls   *Caller
	wake    *time.Timer
	unwatch context.CancelFunc
	lostAt  time.Time
	err     error
	done    bool
}

func (sh *shell) loop(ctx context.Context) error {
	l := sh.l
	state := NewState(l.p)
	sh.wake = time.NewTimer(0)
	defer sh.wake.Stop()
	stopping, deadline := ctx.Done(), (<-chan time.Time)(nil)
	for !sh.done {
		var ev Event
		select {
		case ev = <-l.inbox:
		case <-sh.wake.C:
			ev = Woken{Now: l.c.Clock()}
		case <-stopping:
			stopping, deadline = nil, time.After(l.c.LeaveTimeout)
			ev = Stop{Now: l.c.Clock(), Reason: "left in order"}
		case <-deadline:
			return fmt.Errorf("leave the cluster: not done within %s: the others will notice by the heartbeat", l.c.LeaveTimeout)
		}
		var fx []Effect
		state, fx = Step(state, ev)
		l.mu.Lock()
		l.state = state
		l.mu.Unlock()
		for _, e := range fx {
			sh.do(e)
		}
	}
	return sh.err
}

func (sh *shell) do(e Effect) {
	switch e := e.(type) {
	case WakeAt:
		sh.wake.Reset(max(0, e.At.Sub(sh.l.c.Clock())))
	case Fetch, Survey, Write, Renew, ReadView, Show:
		sh.call(e)
	case Watch:
		sh.watch(e.Prefixes)
	case Assign:
		sh.assign(e.Assignment)
	case Reply:
		sh.reply(e)
	default:
		sh.tell(e)
	}
}

// call makes a store call on a goroutine of its own and posts its answer.
func (sh *shell) call(e Effect) {
	sh.wg.Go(func() {
		ctx, cancel := context.WithTimeout(sh.ctx, sh.calls.Timeout(e))
		defer cancel()
		if ev := sh.calls.Call(ctx, e); ev != nil {
			sh.l.post(ev)
		}
	})
}

// tell passes on what listeners want to know, and ends the loop.
func (sh *shell) tell(e Effect) {
	c := sh.l.c
	switch e := e.(type) {
	case Applying:
		if c.Events.Did != nil && len(e.Deeds) > 0 {
			c.Events.Did(e.Value, e.Deeds)
		}
		if c.Events.Changed != nil {
			c.Events.Changed(e.Value)
		}
	case Joining:
		c.Logger.Info("joined", "incarnation", uint64(e.Incarnation))
		if c.Events.Joined != nil {
			c.Events.Joined(e.Incarnation)
		}
	case Removing:
		c.Logger.Info("the session has ended; joining again in another one", "reason", e.Reason)
		if c.Events.Removed != nil {
			c.Events.Removed(e.Reason)
		}
	case Complain:
		c.Logger.Warn("a document cannot be used", "err", e.Err)
	case StoreChanged:
		sh.storeChanged(e.Err)
	case Left:
		sh.done = true
	case Halt:
		sh.done, sh.err = true, e.Err
	}
}

func (sh *shell) storeChanged(problem string) {
	c := sh.l.c
	if problem != "" {
		sh.lostAt = time.Now()
		c.Logger.Warn("the store does not answer", "err", problem)
		if c.Events.StoreLost != nil {
			c.Events.StoreLost(errors.New(problem))
		}
		return
	}
	away := time.Since(sh.lostAt)
	c.Logger.Info("the store answers again", "after", away)
	if c.Events.StoreBack != nil {
		c.Events.StoreBack(away)
	}
}

// assign keeps the newest assignment in the channel. Only this goroutine sends.
func (sh *shell) assign(a protocol.Assignment) {
	select {
	case <-sh.l.out:
	default:
	}
	sh.l.out <- a
}

func (sh *shell) reply(e Reply) {
	sh.l.mu.Lock()
	defer sh.l.mu.Unlock()
	if ch, ok := sh.l.waiting[e.ID]; ok {
		ch <- e
		delete(sh.l.waiting, e.ID)
	}
}

// watch replaces the watches. Without them the member looks by the clock.
func (sh *shell) watch(prefixes []string) {
	if sh.unwatch != nil {
		sh.unwatch()
		sh.unwatch = nil
	}
	w, ok := sh.l.c.Store.(store.Watcher)
	if !ok || len(prefixes) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(sh.ctx)
	sh.unwatch = cancel
	for _, p := range prefixes {
		ch, err := w.Watch(ctx, p)
		if err != nil {
			sh.l.c.Logger.Warn("watch documents: polling alone", "prefix", p, "err", err)
			continue
		}
		sh.forward(ch, p)
	}
}

func (sh *shell) forward(hints <-chan struct{}, prefix string) {
	sh.wg.Go(func() {
		for range hints {
			if !sh.l.post(Hinted{Now: sh.l.c.Clock(), Prefix: prefix}) {
				return
			}
		}
	})
}
