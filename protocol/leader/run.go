package leader

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

// Member is one member under this protocol. Its methods may be called from any goroutine; Run once.
type Member struct {
	c     protocol.Config
	store store.Full
	p     Params
	inbox chan Event
	out   chan protocol.Assignment
	over  chan struct{} // closed when Run is about to return

	mu       sync.Mutex
	value    cluster.Value
	state    State // after the last step; read by Status
	waiting  map[uint64]chan Reply
	nextID   uint64
	lostAt   time.Time
	reportMu sync.Mutex
}

var _ protocol.Member = (*Member)(nil)

// New checks the config and makes a member; Run starts it.
func New(c protocol.Config) (*Member, error) {
	c = withDefaults(c)
	if err := validate(c); err != nil {
		return nil, err
	}
	return &Member{
		c: c, store: c.Store.(store.Full), p: params(c, newNonce()), inbox: make(chan Event, 64), out: make(chan protocol.Assignment, 1),
		over: make(chan struct{}), waiting: make(map[uint64]chan Reply),
	}, nil
}

// Run implements protocol.Member: it takes part until ctx ends, then leaves in order, within Config.LeaveTimeout.
func (r *Member) Run(ctx context.Context) error {
	calls, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	sh := &shell{r: r, ctx: calls, calls: &Caller{
		Member: r.c.Member, Store: r.store, TTL: r.c.TTL, NoSessions: r.c.NoSessions, Logger: r.c.Logger, Now: r.c.Clock, Wall: time.Now,
	}}
	err := sh.loop(ctx)
	close(r.over)
	cancel(ErrStopped)
	sh.wg.Wait()
	sh.close()
	close(r.out)
	return err
}

// Assignments implements protocol.Member.
func (r *Member) Assignments() <-chan protocol.Assignment { return r.out }

// Report implements protocol.Member.
func (r *Member) Report(version uint64, reports []protocol.Report) {
	r.reportMu.Lock() // reports must not overtake each other
	defer r.reportMu.Unlock()
	r.post(Reported{Now: r.c.Clock(), Version: version, Reports: reports})
}

// Propose implements protocol.Member.
func (r *Member) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
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
	if !r.post(Proposed{Now: r.c.Clock(), ID: id, Commands: commands}) {
		return nil, fmt.Errorf("propose: %w", ErrStopped)
	}
	select {
	case a := <-reply:
		if a.Unknown {
			return nil, fmt.Errorf("propose: outcome unknown: %s", a.Err)
		}
		if a.Err != "" {
			return nil, fmt.Errorf("propose: %s", a.Err)
		}
		return a.Results, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("propose: outcome unknown: %w", context.Cause(ctx))
	case <-r.over:
		return nil, fmt.Errorf("propose: outcome unknown: %w", ErrStopped)
	}
}

func (r *Member) expect() (uint64, chan Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextID++
	ch := make(chan Reply, 1)
	r.waiting[r.nextID] = ch
	return r.nextID, ch
}

func (r *Member) forget(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, id)
}

// Value implements protocol.View.
func (r *Member) Value() cluster.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value
}

// Status implements protocol.View.
func (r *Member) Status() protocol.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.state
	st := protocol.Status{Joined: s.phase == phaseMember, StoreError: s.problem, Pending: len(s.asks.Queue), Light: !s.Whole()}
	if left := s.assigned.TrustUntil.Sub(r.c.Clock()); left > 0 {
		st.TrustMS = left.Milliseconds()
	}
	return st
}

// post gives an event to the loop; false when that is over.
func (r *Member) post(ev Event) bool {
	select {
	case r.inbox <- ev:
		return true
	case <-r.over:
		return false
	}
}

// shell does the effects of one Run.
type shell struct {
	r       *Member
	ctx     context.Context // of store calls
	wg      sync.WaitGroup
	calls   *Caller
	watches map[string]context.CancelFunc // by prefix; "" is the log
	bad     map[string]string             // documents that were refused, and why
	wake    *time.Timer
	err     error
	done    bool
}

func (sh *shell) close() {
	ctx, cancel := context.WithTimeout(context.Background(), sh.r.p.TTL/3)
	defer cancel()
	sh.calls.Close(ctx)
}

func (sh *shell) loop(ctx context.Context) error {
	r := sh.r
	state := NewState(r.p)
	sh.wake = time.NewTimer(0)
	defer sh.wake.Stop()
	stopping, deadline := ctx.Done(), (<-chan time.Time)(nil)
	for !sh.done {
		var ev Event
		select {
		case ev = <-r.inbox:
		case <-sh.wake.C:
			ev = Woken{Now: r.c.Clock()}
		case <-stopping:
			stopping, deadline = nil, time.After(r.c.LeaveTimeout)
			ev = Stop{Now: r.c.Clock(), Reason: "left in order"}
		case <-deadline:
			return fmt.Errorf("leave the cluster: not done within %s: the others will notice by the heartbeat", r.c.LeaveTimeout)
		}
		var fx []Effect
		state, fx = Step(state, ev)
		r.mu.Lock()
		r.state, r.value = state, state.Value()
		r.mu.Unlock()
		for _, e := range fx {
			sh.do(e)
		}
	}
	return sh.err
}

func (sh *shell) do(e Effect) {
	switch e := e.(type) {
	case WakeAt:
		sh.wake.Reset(max(0, e.At.Sub(sh.r.c.Clock())))
	case ReadLog, ReadSnapshot, Append, SaveSnapshot, Renew, Get, List, Put, Delete:
		sh.call(e)
	case Watch:
		sh.watch(e)
	case Assign:
		sh.assign(e.Assignment)
	case Reply:
		sh.reply(e)
	default:
		sh.tell(e)
	}
}

// tell passes on what listeners want to know, and ends the loop.
func (sh *shell) tell(e Effect) {
	ev := sh.r.c.Events
	switch e := e.(type) {
	case Applying:
		sh.applied(e)
	case Joining:
		sh.r.c.Logger.Info("joined", "incarnation", uint64(e.Incarnation))
		if ev.Joined != nil {
			ev.Joined(e.Incarnation)
		}
	case Removing:
		sh.r.c.Logger.Info("removed from the cluster; joining again", "reason", e.Reason)
		if ev.Removed != nil {
			ev.Removed(e.Reason)
		}
	case Refusing:
		sh.refused(e)
	case StoreChanged:
		sh.storeChanged(e.Err)
	case Left:
		sh.done = true
	case Halt:
		sh.done, sh.err = true, e.Err
	}
}

// refused tells once of each document that cannot be what it should be.
func (sh *shell) refused(e Refusing) {
	if sh.bad[e.Key] == e.Reason {
		return
	}
	if sh.bad == nil || len(sh.bad) > 1000 {
		sh.bad = make(map[string]string)
	}
	sh.bad[e.Key] = e.Reason
	sh.r.c.Logger.Warn("a document was refused", "key", e.Key, "reason", e.Reason)
	if refused := sh.r.c.Events.Refused; refused != nil {
		refused(e.Key, e.Reason)
	}
}

// applied reports what this member's own entries did, and that there is a newer value.
func (sh *shell) applied(e Applying) {
	ev := sh.r.c.Events
	if ev.Did != nil {
		if deeds := sh.r.own(e.Entries); len(deeds) > 0 {
			ev.Did(e.Value, deeds)
		}
	}
	if ev.Changed != nil {
		ev.Changed(e.Value)
	}
}

// own are the commands of this start of the member.
func (r *Member) own(entries []protocol.Applied) []protocol.Deed {
	writer := cluster.WriterID(string(r.c.Member) + "-" + r.p.Nonce)
	var out []protocol.Deed
	for _, a := range entries {
		if a.Duplicate || a.Entry.Writer != writer {
			continue
		}
		for i, c := range a.Entry.Commands {
			out = append(out, protocol.Deed{Command: c, Result: a.Results[i], AtMS: a.Entry.AtMS})
		}
	}
	return out
}

func (sh *shell) storeChanged(problem string) {
	r := sh.r
	if problem != "" {
		r.lostAt = time.Now()
		r.c.Logger.Warn("the store does not answer", "err", problem)
		if r.c.Events.StoreLost != nil {
			r.c.Events.StoreLost(errors.New(problem))
		}
		return
	}
	away := time.Since(r.lostAt)
	r.c.Logger.Info("the store answers again", "after", away)
	if r.c.Events.StoreBack != nil {
		r.c.Events.StoreBack(away)
	}
}

// assign keeps the newest assignment in the channel. Only this goroutine sends.
func (sh *shell) assign(a protocol.Assignment) {
	select {
	case <-sh.r.out:
	default:
	}
	sh.r.out <- a
}

func (sh *shell) reply(e Reply) {
	sh.r.mu.Lock()
	defer sh.r.mu.Unlock()
	if ch, ok := sh.r.waiting[e.ID]; ok {
		ch <- e
		delete(sh.r.waiting, e.ID)
	}
}

// call makes a store call on a goroutine of its own and posts its answer. Step has at most one call of each kind and key under way.
func (sh *shell) call(e Effect) {
	sh.wg.Go(func() {
		ctx, cancel := context.WithTimeout(sh.ctx, sh.calls.Timeout(e))
		defer cancel()
		if ev := sh.calls.Call(ctx, e); ev != nil {
			sh.r.post(ev)
		}
	})
}

// Tenure implements protocol.View.
func (r *Member) Tenure() (cluster.Incarnation, protocol.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Tenure()
}
