package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// longestNap bounds how long the loops sleep: timers of the runtime stop while the machine is suspended, the clock of
// the lease does not.
const longestNap = time.Second

// ErrAbandoned is returned by Run if it abandoned runs that ignore their ctx.
var ErrAbandoned = errors.New("abandoned runs that ignore cancellation")

// Run takes assignments, newest last, and keeps their partitions running until ctx ends or the channel is closed. Then
// it stops all runs and returns when their goroutines have ended. Runs that do not end within the grace period are
// abandoned, and the error names them; it wraps ErrAbandoned. Otherwise the error is nil. Run may be called once.
func (s *Supervisor) Run(ctx context.Context, assignments <-chan protocol.Assignment) error {
	s.mu.Lock()
	again := s.started
	s.started = true
	s.mu.Unlock()
	if again {
		return errors.New("run supervisor: Run was called before")
	}
	stopPacer, stopSignal, stopAsks := s.pacer.start(), s.signal.start(ctx), s.asks.start(ctx)
	s.loop(ctx, assignments)
	stopAsks()
	stopPacer()
	stopSignal()
	s.validUntil.Store(0)
	s.mu.Lock()
	left := s.abandoned
	s.mu.Unlock()
	if len(left) > 0 {
		return fmt.Errorf("stop runs: %d of them, the first is %s: %w", len(left), left[0], ErrAbandoned)
	}
	s.runs.Wait()
	return nil
}

// loop feeds Step; it ends when Step has said Ended.
func (s *Supervisor) loop(ctx context.Context, assignments <-chan protocol.Assignment) {
	done := ctx.Done()
	base := context.WithoutCancel(ctx)
	timer := time.NewTimer(longestNap)
	defer timer.Stop()
	for !s.hasEnded() {
		timer.Reset(s.nap())
		var e Event
		select {
		case a, ok := <-assignments:
			if ok {
				e = Assigned{Now: s.clock(), Assignment: a}
				break
			}
			assignments, e = nil, Shutdown{Now: s.clock()}
		case <-done:
			done, assignments, e = nil, nil, Shutdown{Now: s.clock()}
		case <-s.inbox.signal:
		case <-timer.C:
		}
		s.step(base, e)
	}
}

// step handles one event together with all exits that have come in.
func (s *Supervisor) step(ctx context.Context, e Event) {
	s.notice(s.clock())
	events := s.inbox.take()
	if e != nil {
		events = append(events, e)
	}
	s.lowerLease(e)
	s.mu.Lock()
	effects := Step(s.state, append(events, Tick{Now: s.clock()})...)
	until := s.state.validUntil
	s.mu.Unlock()
	stops := lastStop(effects) + 1
	for _, fx := range effects[:stops] {
		s.do(ctx, fx)
	}
	s.validUntil.Store(int64(until)) // after the stops: a revoked grant must not profit; before the starts: a run starts with a valid lease
	for _, fx := range effects[stops:] {
		s.do(ctx, fx)
	}
	s.pacer.readEntered()
}

// frozenAfter is how long nothing may have happened here before that counts as a suspension of the process: the loop
// never sleeps so long.
const frozenAfter = 3 * longestNap

// notice finds out whether the process was suspended before this step: then nothing ran meanwhile.
func (s *Supervisor) notice(now protocol.Instant) {
	before := protocol.Instant(s.stepped.Swap(int64(now)))
	if before == 0 || now.Sub(before) < frozenAfter {
		s.ranUntil.Store(int64(now))
		return
	}
	s.ranUntil.Store(int64(before))
	if now < protocol.Instant(s.validUntil.Load()) { // else it loses what ran, and each run tells so itself
		s.conf.Events.frozen(Frozen{From: before, To: now})
	}
}

// lastStop is the index of the last Stop, -1 if there is none.
func lastStop(effects []Effect) int {
	for i, fx := range slices.Backward(effects) {
		if _, ok := fx.(Stop); ok {
			return i
		}
	}
	return -1
}

// lowerLease applies a shorter lease at once.
func (s *Supervisor) lowerLease(e Event) {
	if a, ok := e.(Assigned); ok && int64(a.Assignment.ValidUntil) < s.validUntil.Load() {
		s.validUntil.Store(int64(a.Assignment.ValidUntil))
	}
}

func (s *Supervisor) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// nap is how long nothing is due.
func (s *Supervisor) nap() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wakeAt == 0 {
		return longestNap
	}
	return min(max(s.wakeAt.Sub(s.clock()), 0), longestNap)
}

// inbox takes exits from runs to the loop. It never blocks a run, and holds at most one exit for each.
type inbox struct {
	signal chan struct{} // has room for one
	mu     sync.Mutex
	events []Event
}

func (b *inbox) put(e Event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default: // the loop will look anyway
	}
}

func (b *inbox) take() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

// runLog is the handler of a run's log. It adds partition and token only when something is logged: most runs log
// nothing, and a handler with both for each of them takes more memory than the run.
type runLog run

func (r *run) log() *slog.Logger { return slog.New((*runLog)(r)) }

func (l *runLog) handler() slog.Handler { return l.s.log.Handler() }

func (l *runLog) full() slog.Handler {
	return l.handler().WithAttrs([]slog.Attr{slog.String("partition", string(l.id)),
		slog.Uint64("token", uint64(l.token))})
}

// Enabled implements slog.Handler.
func (l *runLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l *runLog) Handle(ctx context.Context, r slog.Record) error { return l.full().Handle(ctx, r) }

// WithAttrs implements slog.Handler.
func (l *runLog) WithAttrs(attrs []slog.Attr) slog.Handler { return l.full().WithAttrs(attrs) }

// WithGroup implements slog.Handler.
func (l *runLog) WithGroup(name string) slog.Handler { return l.full().WithGroup(name) }

// granted is what a run keeps of its grant. A member has tens of thousands of runs, of which most wait for their next
// round: each round gets a [work.Grant] of its own.
type granted struct {
	id         cluster.PartitionID
	token      cluster.Token
	attempt    int64
	definition *work.Definition // shared, read-only
	more       *more            // nil for most
}

// more is what few grants have.
type more struct {
	parents      []string
	listedBy     string
	input        []byte
	index, count int64
}

func grantedBy(fx *Start) granted {
	g := fx.Grant
	out := granted{id: g.Partition, token: g.Token, attempt: g.Attempt, definition: fx.Definition}
	if len(g.Parents) > 0 || g.ListedBy != "" || len(g.Input) > 0 || g.Index != 0 || g.Count != 0 {
		out.more = &more{g.Parents, g.ListedBy, g.Input, g.Index, g.Count}
	}
	return out
}

// grant makes what a Runner gets.
func (r *run) grant() *work.Grant {
	job, task, key := r.id.Split()
	g := &work.Grant{
		Partition: r.id, Job: job, Task: task, Key: key, Member: r.s.conf.Member, Token: r.token, Attempt: r.attempt,
		Definition: *r.definition, Host: r, Log: r.log(),
	}
	if m := r.more; m != nil {
		g.Parents, g.ListedBy, g.Input, g.Index, g.Count = m.parents, m.listedBy, m.input, m.index, m.count
	}
	return g
}
