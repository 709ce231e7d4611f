package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/usercode"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// run is one run of a partition: from Start to Exited.
type run struct {
	s *Supervisor
	granted
	typ       *work.Type // shared by the runs of a type, with its name
	runner    work.Runner
	startedAt protocol.Instant
	sinceMS   int64
	periodic  *periodic   // nil for a long run
	stopped   atomic.Bool // its ctx has ended or is about to
	paced     atomic.Bool // periodic is set, and is on the wheel
	keep      bool

	mu     sync.Mutex // guards what follows
	cancel context.CancelCauseFunc
	end    *stopping // nil while it was not stopped
	stats  runStats
	saved  savedPosition
}

// stopping is why a run was stopped.
type stopping struct {
	cause error
	until protocol.Instant // when it ran for the last time before that
}

// runStats is the part of a run in Status.
type runStats struct {
	rounds, failures, skipped, expired int64
	inRow                              int64        // failed rounds since the last good one
	last                               *lastFailure // nil for none
	lateness                           time.Duration
	took                               time.Duration
}

// lastFailure is that of a round, by the wall clock.
type lastFailure struct {
	message       string
	sinceMS, atMS int64 // the first one of its row, and the last one
}

// result counts how a round ended.
func (st *runStats) result(err error, atMS int64) {
	if err == nil {
		st.inRow = 0
		return
	}
	since := atMS
	if st.inRow > 0 {
		since = st.last.sinceMS
	}
	st.failures++
	st.inRow++
	st.last = &lastFailure{safetext.Cut(err.Error(), maxMessage), since, atMS}
}

func (s *Supervisor) newRun(fx Start) *run {
	return &run{s: s, granted: grantedBy(&fx), typ: s.types[fx.Grant.Spec.Type],
		keep:      fx.Definition.OnStoreLoss == work.StoreLossKeep,
		startedAt: s.clock(), sinceMS: s.conf.Wall().UnixMilli()}
}

// prepare makes the Runner, and the schedule of a periodic one.
func (r *run) prepare() error {
	return usercode.Try(r.makeRunner, r.panicked)
}

func (r *run) makeRunner() (err error) {
	if r.runner, err = r.typ.New(*r.definition); err != nil {
		return fmt.Errorf("make a runner of type %s: %w", r.typ.Name, err)
	}
	if !r.typ.Periodic {
		return nil
	}
	r.periodic, err = newPeriodic(r)
	return err
}

// goOn starts the goroutine of a long run.
func (r *run) goOn(ctx context.Context) {
	ctx, cancel := r.context(ctx)
	r.mu.Lock()
	r.cancel = cancel
	r.mu.Unlock()
	go r.call(ctx, r.grant(), func(err error) {
		defer r.s.runs.Done()
		wasEnded := r.stopped.Load()
		cancel(nil)
		switch {
		case wasEnded:
			r.exit(Stopped, "")
		case err != nil:
			r.exit(Failed, err.Error())
		default:
			r.exit(Finished, "")
		}
	})
}

// context is the ctx of a long run or a round, with the definition's time limit. The outermost one looks at the clock.
func (r *run) context(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	end := cancel
	if limit := r.timeout(); limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		end = func(cause error) { cancel(cause); stop() }
	}
	return protocol.Leased{Context: ctx, Look: func() {
		if !r.valid() && !r.stopped.Load() {
			r.stop(work.CauseLeaseLost)
		}
	}}, end
}

func (r *run) timeout() time.Duration {
	return millis(min(r.definition.TimeoutMS, longestRetryMS))
}

// call calls the Runner and then done, whether it returns, panics or ends its goroutine.
func (r *run) call(ctx context.Context, g *work.Grant, done func(error)) {
	usercode.Call(func() error { return r.runner.Run(ctx, g) }, func(err error) {
		if p, ok := errors.AsType[*usercode.Panic](err); ok {
			r.panicked(p)
		}
		done(r.explain(ctx, err))
	})
}

// explain says what comes from the time limit. A Runner that returns nil because its ctx has ended is not finished.
func (r *run) explain(ctx context.Context, err error) error {
	switch {
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return err
	case err == nil:
		return fmt.Errorf("took longer than its timeout of %v", r.timeout())
	}
	return fmt.Errorf("took longer than its timeout of %v: %w", r.timeout(), err)
}

func (r *run) panicked(p *usercode.Panic) {
	r.log().Error("panic in a runner", "panic", p.Value, "stack", string(p.Stack))
}

// stop ends the run's ctx.
func (r *run) stop(cause error) {
	r.mu.Lock()
	r.end = &stopping{cause, protocol.Instant(r.s.ranUntil.Load())}
	r.stopped.Store(true)
	cancel := r.cancel
	r.mu.Unlock()
	if cancel != nil { // a long run, or a periodic one that reads its last round
		cancel(cause)
	}
	if r.periodic != nil {
		r.s.pacer.remove(r.periodic, cause)
	}
}

// exit reports that the run is over; it is called once, after the Runner has returned.
func (r *run) exit(o Outcome, message string) {
	r.stopped.Store(true)
	r.s.forget(r)
	now := r.s.clock()
	end := stopping{until: now}
	r.mu.Lock()
	if r.end != nil {
		end = *r.end
	}
	r.mu.Unlock()
	ranFor := now.Sub(r.startedAt)
	r.s.conf.Events.stopped(RunStopped{Partition: r.id, Token: r.token, Type: r.typ.Name, At: now, Until: end.until,
		RanFor: ranFor, Outcome: o, Cause: end.cause, Message: message})
	r.s.inbox.put(Exited{Now: now, Partition: r.id, Token: r.token, Outcome: o, Message: message, RanFor: ranFor})
}
