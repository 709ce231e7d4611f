package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/usercode"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

var (
	causeLease   = work.CauseLeaseLost
	causeDrained = work.CauseDrained
)

// causeOf says why a member stops its runs when ctx has ended.
func causeOf(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, work.CauseLeaseLost) {
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

	call stored // as it was claimed; set before the function is called

	ctx    context.Context
	cancel context.CancelCauseFunc
	lent   int         // goroutines that wait for other calls; guarded by w.mu
	began  atomic.Bool // it was claimed
	over   atomic.Bool // the function has returned, or was not called
}

// stop ends the ctx of the function; the first cause counts.
func (r *run) stop(cause error) { r.cancel(cause) }

// begin takes a slot for a call and tries to claim it.
func (w *Worker) begin(base context.Context, cand candidate, inc cluster.Incarnation) {
	r := &run{
		w: w, id: cand.at.id(), key: cand.key, inc: inc, since: time.Now(),
		nonce: fmt.Sprintf("%s-%d", w.nonce, w.claims.Add(1)),
	}
	r.ctx, r.cancel = context.WithCancelCause(base)
	w.mu.Lock()
	w.runs[cand.key] = r
	w.busy++
	w.mu.Unlock()
	w.runsWG.Go(func() { r.do(base, cand) })
}

// do carries out what the attempt decides.
func (r *run) do(base context.Context, cand candidate) {
	defer r.w.forget(r)
	defer r.free()
	defer r.cancel(nil)
	a := attempt{
		id: r.id, by: Runner{Member: r.w.c.Member, Incarnation: r.inc, Nonce: r.nonce}, unbegun: cand.unbegun,
		call: cand.stored,
	}
	a, fx := a.begin()
	for {
		var ans answer
		switch fx := fx.(type) {
		case confirm:
			inc, until := r.w.c.Tenure()
			ans = confirmed{inc == r.inc && until > r.w.c.Clock() && r.ctx.Err() == nil}
		case perform:
			ans = performed{r.take(a.call)}
		case unclaimed:
			r.miss(cand, fx.err)
			return
		case told:
			r.tell(a.call.Record, fx)
			return
		case lost:
			r.w.counts.lost.Add(1)
			return
		default:
			ans = r.act(base, fx)
		}
		a, fx = a.step(ans)
	}
}

// act does what concerns the document.
func (r *run) act(ctx context.Context, fx effect) answer {
	if p, ok := fx.(pause); ok && p.err != nil {
		r.w.c.Logger.Debug("write the outcome of a call: trying again", "call", r.id, "err", p.err)
	}
	return act(ctx, r.w.c.Docs, r.key, fx)
}

// miss notes that a call was not to be had.
func (r *run) miss(cand candidate, err error) {
	if err == nil {
		return
	}
	if !errors.Is(err, store.ErrConflict) {
		r.w.c.Logger.Debug("claim a call", "call", r.id, "err", err)
		cand.failed.Store(true)
	}
	cand.lost.Add(1)
}

// take runs the function of a call that was claimed, and gives the slot back.
func (r *run) take(call stored) event {
	r.call = call
	r.began.Store(true)
	r.w.counts.running.Add(1)
	e := r.perform()
	r.w.counts.running.Add(-1)
	r.free()
	return e
}

// free gives the slot back.
func (r *run) free() {
	r.w.mu.Lock()
	if r.over.Swap(true) {
		r.w.mu.Unlock()
		return
	}
	if r.lent == 0 {
		r.w.busy--
	}
	r.w.writing++
	r.w.mu.Unlock()
	r.w.wake.Set()
}

func (w *Worker) forget(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, r.key)
	w.writing--
}

// perform calls the function and returns its outcome.
func (r *run) perform() event {
	ctx, cancel := r.context()
	defer cancel()
	r.w.c.Started(r.id, r.call.Token)
	result, err := r.invoke(ctx)
	r.w.c.Stopped(r.id, r.call.Token)
	cause := context.Cause(ctx)
	return way{
		result: result, err: err, timedOut: errors.Is(cause, context.DeadlineExceeded),
		handed: errors.Is(cause, work.CauseLeaseLost) || errors.Is(cause, work.CauseDrained),
	}.event(r.id, r.call.Limits)
}

// context is the ctx of the function. The outermost one looks at the clock.
func (r *run) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithValue(context.WithValue(r.ctx, tokenKey{}, r.call.Token), runKey{}, r),
		context.CancelFunc(func() {})
	if ms := r.call.Limits.TimeoutMS; ms > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	}
	return protocol.Leased{Context: ctx, Look: func() {
		if inc, until := r.w.c.Tenure(); inc != r.inc || until <= r.w.c.Clock() {
			r.stop(causeLease)
		}
	}}, cancel
}

// invoke calls the function, whether it returns, panics or ends its goroutine.
func (r *run) invoke(ctx context.Context) (result json.RawMessage, err error) {
	done := make(chan error, 1)
	go usercode.Call(func() (err error) {
		result, err = r.w.functions[r.call.Function].run(ctx, r.call.Arg)
		return err
	}, func(err error) { done <- err })
	err = <-done
	if p, ok := errors.AsType[*usercode.Panic](err); ok {
		r.record(r.call.Record, fmt.Sprintf("%v\n%s", p, p.Stack))
	}
	return result, err
}

// record journals what went wrong with a call.
func (r *run) record(call Record, message string) {
	r.w.c.Journal(journal.Record{
		AtMS: time.Now().UnixMilli(), Kind: journal.RunError, Member: string(r.w.c.Member), Partition: "call:" +
			call.Function, Token: call.Token,
		Message: fmt.Sprintf("call %s, attempt %d of %d: %s", r.id, call.Attempt, call.Limits.Attempts, message),
	})
}

// tell counts what was written, and journals an attempt that failed. before is what the call was.
func (r *run) tell(before Record, t told) {
	w := r.w
	f, failed := t.event.(fail)
	_, released := t.event.(release)
	out, ended := t.next.Ended()
	switch {
	case released && !ended:
		w.counts.released.Add(1)
	case !ended || t.next.Outcome != nil && !t.next.State.Final() && before.Outcome != nil:
		w.counts.retried.Add(1)
	case before.Outcome != nil:
		w.counts.handled.Add(1)
	default:
		w.counts.of(out.State).Add(1)
	}
	if failed && t.next.State != Cancelled {
		r.record(before, f.Error)
	}
}

type tokenKey struct{}

// TokenOf returns the fencing token of the run that a function's ctx belongs to; 0 for any other ctx. It grows with
// each run of the same call, and of its handler: an effect under a smaller token than one seen before comes from a
// replaced run.
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
		if cause := interrupts(got{now, err}, r.nonce, r.began.Load()); cause != nil {
			r.stop(cause)
		}
	}
}

// lend gives the slot of the run that ctx belongs to, if any, to other calls until the function that it returns is
// called. A function that waits for another call does not work meanwhile; where it kept its slot, functions that wait
// for functions would wait for ever once they have all slots. The slot is taken back at once, so for a moment more
// functions than slots may work.
func lend(ctx context.Context) (back func()) {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return func() {}
	}
	r.lend(1)
	return func() { r.lend(-1) }
}

type runKey struct{}

// lend counts the goroutines of the run that wait for other calls. The first gives the slot away, the last takes it
// back, unless the run is over.
func (r *run) lend(n int) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	before := r.lent
	r.lent += n
	switch {
	case r.over.Load():
	case before == 0 && n > 0:
		r.w.busy--
		r.w.wake.Set()
	case r.lent == 0:
		r.w.busy++
	}
}
