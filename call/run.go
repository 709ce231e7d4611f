package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

var (
	causeTrust   = work.CauseTrustLost
	causeDrained = work.CauseDrained
)

// causeOf says why a member stops its runs when ctx has ended.
func causeOf(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, work.CauseTrustLost) {
		return cause
	}
	return work.CauseDrained
}

// run is one run of a call: from the claim until its outcome is written.
type run struct {
	w     *Worker
	id    string
	key   string
	inc   cluster.Incarnation
	nonce string
	since time.Time

	call  stored // as it was last known to stand in the store; of the run's own goroutine alone
	token uint64 // set before the function is called

	ctx    context.Context
	cancel context.CancelCauseFunc
	began  atomic.Bool // it was claimed
	over   atomic.Bool // the function has returned, or was not called
}

// stop ends the ctx of the function; the first cause counts.
func (r *run) stop(cause error) { r.cancel(cause) }

// begin takes a slot for a call and tries to claim it.
func (w *Worker) begin(base context.Context, cand candidate, inc cluster.Incarnation) {
	r := &run{
		w: w, call: cand.stored, id: cand.at.id(), key: cand.key, inc: inc, since: time.Now(),
		nonce: fmt.Sprintf("%s-%d", w.nonce, w.claims.Add(1)),
	}
	r.ctx, r.cancel = context.WithCancelCause(base)
	w.mu.Lock()
	w.runs[cand.key] = r
	w.busy++
	w.mu.Unlock()
	w.runsWG.Go(func() { r.do(base, cand) })
}

func (r *run) do(base context.Context, cand candidate) {
	defer r.w.forget(r)
	defer r.cancel(nil)
	claimed := r.claim(base, cand)
	if !claimed {
		r.free()
		return
	}
	r.w.counts.running.Add(1)
	e := r.perform()
	r.w.counts.running.Add(-1)
	r.free()
	r.finish(base, e)
}

// free gives the slot back.
func (r *run) free() {
	if r.over.Swap(true) {
		return
	}
	r.w.mu.Lock()
	r.w.busy--
	r.w.writing++
	r.w.mu.Unlock()
	r.w.stir()
}

func (w *Worker) forget(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, r.key)
	w.writing--
}

// claim writes this run into the document. Where it is not this member's any more before anything was begun, the call goes back.
func (r *run) claim(ctx context.Context, cand candidate) bool {
	next, ok := Step(r.call.Record, r.id, Claim{
		By: Runner{Member: r.w.c.Member, Incarnation: r.inc, Nonce: r.nonce}, Unbegun: cand.unbegun,
	})
	if !ok {
		return false
	}
	now, err := write(ctx, r.w.c.Docs, r.call, next, func(got Record) bool {
		return got.runner().Nonce == r.nonce || next.State != Running && got.State == next.State
	})
	if err != nil {
		if !errors.Is(err, store.ErrConflict) {
			r.w.c.Logger.Debug("claim a call", "call", r.id, "err", err)
			cand.failed.Store(true)
		}
		cand.lost.Add(1)
		return false
	}
	r.call = now
	if now.State != Running { // its runner is gone, and that was the end of it
		r.tell(Fail{Error: now.Error}, now.Record)
		return false
	}
	if inc, until := r.w.c.Tenure(); inc != r.inc || until <= r.w.c.Clock() || r.ctx.Err() != nil {
		r.finish(ctx, Release{})
		return false
	}
	r.token = now.Token
	r.began.Store(true)
	return true
}

// perform calls the function and tells what came of it.
func (r *run) perform() Event {
	ctx, cancel := r.context()
	defer cancel()
	r.w.c.Started(r.id, r.call.Token)
	result, err := r.invoke(ctx)
	r.w.c.Stopped(r.id, r.call.Token)
	cause := context.Cause(ctx)
	switch {
	case err == nil && len(result) > r.call.Limits.ResultBytes:
		return Fail{ID: r.id, Final: true, Error: fmt.Sprintf("the result has %d bytes, at most %d are allowed: keep it elsewhere and return where, or raise MaxResult", len(result), r.call.Limits.ResultBytes)}
	case err == nil:
		return Return{Result: result}
	case errors.Is(cause, context.DeadlineExceeded):
		limit := time.Duration(r.call.Limits.TimeoutMS) * time.Millisecond
		return Fail{ID: r.id, TimedOut: true, Final: isPermanent(err), Error: cut(fmt.Sprintf("took longer than its timeout of %s: %v", limit, err))}
	case errors.Is(cause, work.CauseTrustLost), errors.Is(cause, work.CauseDrained):
		return Release{}
	}
	return Fail{ID: r.id, Error: cut(err.Error()), Final: isPermanent(err)}
}

// cut bounds what an error takes of a document.
func cut(s string) string {
	const most = 4 << 10
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// context is the ctx of the function. What looks at the clock of trust is the outermost: a ctx that is derived asks its parent for nothing.
func (r *run) context() (context.Context, context.CancelFunc) {
	ctx, cancel := r.ctx, context.CancelFunc(func() {})
	if ms := r.call.Limits.TimeoutMS; ms > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	}
	return runContext{ctx, r}, cancel
}

// invoke calls the function, whether it returns, panics or ends its goroutine.
func (r *run) invoke(ctx context.Context) (result json.RawMessage, err error) {
	type returned struct {
		result json.RawMessage
		err    error
	}
	done := make(chan returned, 1)
	go func() {
		out := returned{err: errors.New("the function ended its goroutine with runtime.Goexit: return instead")}
		defer func() {
			if v := recover(); v != nil {
				out = returned{err: fmt.Errorf("panic: %v", v)}
				r.record(fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
			}
			done <- out
		}()
		out.result, out.err = r.w.functions[r.call.Function].run(ctx, r.call.Arg)
	}()
	out := <-done
	return out.result, out.err
}

// record journals what went wrong with the call.
func (r *run) record(message string) {
	r.w.c.Journal(journal.Record{
		AtMS: time.Now().UnixMilli(), Kind: journal.RunError, Member: string(r.w.c.Member), Partition: "call:" + r.call.Function, Token: r.call.Token,
		Message: fmt.Sprintf("call %s, attempt %d of %d: %s", r.id, r.call.Attempt, r.call.Limits.Attempts, message),
	})
}

// finish writes what came of the run, until the store has taken it or the document is not this run's any more.
func (r *run) finish(ctx context.Context, e Event) {
	for try := 1; ctx.Err() == nil; try++ {
		next, ok := Step(r.call.Record, r.id, e)
		if !ok || r.call.runner().Nonce != r.nonce {
			break
		}
		_, err := write(ctx, r.w.c.Docs, r.call, next, func(got Record) bool {
			return got.runner().Nonce == r.nonce && (got.State != Running || got.Outcome != nil)
		})
		if err == nil {
			r.tell(e, next)
			return
		}
		if errors.Is(err, store.ErrTooLarge) {
			e = Fail{ID: r.id, Final: true, Error: "the store does not take the result: " + err.Error()}
			continue
		}
		if !errors.Is(err, store.ErrConflict) {
			r.w.c.Logger.Debug("write the outcome of a call: trying again", "call", r.id, "err", err)
			if rest(ctx, 5*try) != nil {
				break
			}
		}
		now, err := read(ctx, r.w.c.Docs, r.call.key) // a wish to cancel may have come, or somebody else
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err == nil {
			r.call = now
		}
	}
	r.w.counts.lost.Add(1)
}

// tell counts what was written, and journals an attempt that failed.
func (r *run) tell(e Event, next Record) {
	w := r.w
	f, failed := e.(Fail)
	_, released := e.(Release)
	out, ended := next.Ended()
	switch {
	case released && !ended:
		w.counts.released.Add(1)
	case !ended || next.Outcome != nil && !next.State.Final() && r.call.Outcome != nil:
		w.counts.retried.Add(1)
	case r.call.Outcome != nil:
		w.counts.handled.Add(1)
	default:
		w.counts.of(out.State).Add(1)
	}
	if failed && next.State != Cancelled {
		r.record(f.Error)
	}
}

// runContext looks at the clock of trust when it is asked for Err: a process that was suspended notices so before its timers tell.
type runContext struct {
	context.Context
	r *run
}

// Err implements context.Context.
func (c runContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if inc, until := c.r.w.c.Tenure(); inc != c.r.inc || until <= c.r.w.c.Clock() {
		c.r.stop(causeTrust)
	}
	return c.Context.Err()
}

// Value implements context.Context.
func (c runContext) Value(key any) any {
	if key == (tokenKey{}) {
		return c.r.token
	}
	return c.Context.Value(key)
}

type tokenKey struct{}

// TokenOf is the fencing token of the run that a function's ctx belongs to; 0 for any other ctx. It grows with each run of the same call, and of its
// handler: an effect under a token that is smaller than one that was seen comes from a run that was replaced.
func TokenOf(ctx context.Context) uint64 {
	t, _ := ctx.Value(tokenKey{}).(uint64)
	return t
}

// check looks, for all runs that take a while, whether they are to be cancelled or were replaced.
func (w *Worker) check(ctx context.Context) {
	w.mu.Lock()
	var long []*run
	for _, r := range w.runs {
		if !r.over.Load() && time.Since(r.since) > checkEvery/2 {
			long = append(long, r)
		}
	}
	w.mu.Unlock()
	for _, r := range long {
		now, err := read(ctx, w.c.Docs, r.key)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && now.runner().Nonce != r.nonce && r.began.Load():
			r.stop(CauseReplaced)
		case err == nil && now.Cancel && now.runner().Nonce == r.nonce:
			r.stop(CauseCancelled)
		}
	}
}
