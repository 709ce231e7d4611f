package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// RunnerConfig configures a Worker. Member, Docs, Functions, Slots, Tenure and Value are needed. Callbacks may be
// called from any goroutine.
type RunnerConfig struct {
	Member    cluster.MemberID
	Docs      store.Docs // with a store.Watcher, calls are found sooner
	Functions []Function
	// Slots returns how many calls may run here now.
	Slots func() int64
	// Tenure returns the incarnation in which this member is joined, and the end of its lease; zero while it is not
	// joined.
	Tenure func() (cluster.Incarnation, protocol.Instant)
	// Value returns the newest value applied here, and Changed a channel that is closed when there is a newer one.
	Value   func() cluster.Value
	Changed func() <-chan struct{}
	// Journal gets a record of each failed attempt; default: none.
	Journal func(journal.Record)
	// Retention is how long an uncollected outcome is kept, from its first observation by a member; default 1 h.
	Retention time.Duration
	// Grace is how long Run waits for functions to return when it ends; default 10 s.
	Grace  time.Duration
	Clock  func() protocol.Instant // default protocol.Now
	Logger *slog.Logger            // default: discard
	// Started and Stopped are called for each run, right before and after the function; default: none.
	Started, Stopped func(id string, token uint64)
}

func (c RunnerConfig) withDefaults() RunnerConfig {
	c.Retention = cmp.Or(c.Retention, time.Hour)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	if c.Clock == nil {
		c.Clock = protocol.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Journal == nil {
		c.Journal = func(journal.Record) {}
	}
	if c.Started == nil {
		c.Started = func(string, uint64) {}
	}
	if c.Stopped == nil {
		c.Stopped = func(string, uint64) {}
	}
	if c.Changed == nil {
		c.Changed = func() <-chan struct{} { return nil }
	}
	return c
}

// Worker runs calls on one member: it claims calls of its functions for idle slots. Its methods may be called from any
// goroutine, Run only once.
type Worker struct {
	c         RunnerConfig
	functions map[string]definition
	nonce     string // of this start
	claims    atomic.Uint64
	counts    counts

	wake wait.Wake // something has changed

	mu      sync.Mutex // guards what follows
	runs    map[string]*run
	busy    int64 // slots taken
	writing int   // outcomes on their way
	runsWG  sync.WaitGroup

	backlog backlog // of Run's goroutine alone
}

// NewWorker checks the config and returns a worker.
func NewWorker(c RunnerConfig) (*Worker, error) {
	w := &Worker{c: c.withDefaults(), functions: make(map[string]definition), nonce: newNonce(), wake: wait.NewWake(),
		runs: make(map[string]*run)}
	var faults []error
	for _, f := range c.Functions {
		d := f.definition()
		_, twice := w.functions[d.name]
		_, err := d.options.handler()
		if err = errors.Join(d.check(), err); twice {
			err = errors.Join(err, fmt.Errorf("two functions are named %q", d.name))
		}
		faults = append(faults, err)
		w.functions[d.name] = d
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("run calls: %w", err)
	}
	w.backlog = newBacklog(w)
	return w, nil
}

// Names returns the names of functions, sorted, without duplicates.
func Names(functions []Function) []string {
	names := make([]string, 0, len(functions))
	for _, f := range functions {
		names = append(names, f.Name())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// How often a member checks for calls without a hint, for cancellations, and for uncollected outcomes.
const (
	pollEvery   = 500 * time.Millisecond
	checkEvery  = 400 * time.Millisecond
	sweepEvery  = time.Minute
	mostWriting = 256
)

// Run claims and runs calls until ctx ends. Then it ends the ctx of its runs, returns their calls, and returns when
// they have ended, after Grace at the latest. If hurry is closed it does not wait.
func (w *Worker) Run(ctx context.Context, hurry <-chan struct{}) {
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(context.Canceled)
	var helpers sync.WaitGroup
	helpers.Go(func() { w.every(ctx, sweepEvery, newSweeper(w).sweep) }) // also where there are no functions
	if len(w.functions) > 0 {
		helpers.Go(func() { w.every(ctx, checkEvery, w.check) })
		w.loop(ctx, base)
	}
	helpers.Wait()
	w.stopAll(causeOf(ctx))
	w.await(hurry, end)
}

// await waits for the runs to end.
func (w *Worker) await(hurry <-chan struct{}, end context.CancelCauseFunc) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.runsWG.Wait()
	}()
	t := time.NewTimer(w.c.Grace)
	defer t.Stop()
	select {
	case <-done:
		return
	case <-t.C:
		w.c.Logger.Error("abandon functions that ignore their ctx, or outcomes that the store does not accept", "calls",
			w.Status().Running)
	case <-hurry:
	}
	end(context.Canceled)
}

func (w *Worker) every(ctx context.Context, d time.Duration, f func(context.Context)) {
	for wait.For(ctx, d) {
		f(ctx)
	}
}

func (w *Worker) loop(ctx, base context.Context) {
	hints := wait.Watch(ctx, w.c.Docs, prefix)
	for hinted := true; ctx.Err() == nil; {
		changed := w.c.Changed()
		nap := w.turn(ctx, base, hinted)
		hinted = hints.Or(ctx, min(nap, pollEvery), w.wake, changed)
	}
}

// turn ends runs that may not go on, and claims calls for idle slots. It returns when there is something to do again at
// the latest.
func (w *Worker) turn(ctx, base context.Context, hinted bool) time.Duration {
	inc, until := w.c.Tenure()
	now := w.c.Clock()
	v := w.c.Value()
	me, ok := v.Member(w.c.Member)
	nap := w.guard(inc, until, now, ok && me.Draining)
	if hinted {
		w.backlog.hinted = true
	}
	if inc == 0 || until <= now || !ok || me.Incarnation != inc || me.Draining {
		return nap
	}
	w.backlog.regard(v)
	room := w.room()
	rest := w.backlog.refresh(ctx, now, room)
	for ; room > 0; room-- {
		cand, due, ok := w.backlog.next(ctx, now)
		if !ok {
			rest = min(rest, due)
			break
		}
		w.begin(base, cand, inc)
	}
	return max(min(nap, rest), time.Millisecond)
}

// room is how many calls may be begun.
func (w *Worker) room() int64 {
	slots := w.c.Slots()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writing >= mostWriting {
		return 0
	}
	return slots - w.busy
}

// guard ends the ctx of runs that this member may not continue, and returns when to check again.
func (w *Worker) guard(inc cluster.Incarnation, until, now protocol.Instant, draining bool) time.Duration {
	nap := pollEvery
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		switch {
		case r.inc != inc || until <= now:
			r.stop(causeLease)
		case draining:
			r.stop(causeDrained)
		default:
			nap = min(nap, until.Sub(now))
		}
	}
	return nap
}

func (w *Worker) stopAll(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		r.stop(cause)
	}
}

// membership is what gone depends on, as text.
func membership(v cluster.Value) string {
	var b strings.Builder
	for m := range v.Members() {
		fmt.Fprintf(&b, "%s %d %d\n", m.ID, m.Incarnation, m.State)
	}
	return b.String()
}

// counts are what became of the calls that this member had to do with.
type counts struct {
	running                                                        atomic.Int64
	done, failed, cancelled, retried, released, lost, expired, bad atomic.Int64
	handled, queued                                                atomic.Int64
}

func (c *counts) of(s State) *atomic.Int64 {
	switch s {
	case Done:
		return &c.done
	case Cancelled:
		return &c.cancelled
	}
	return &c.failed
}

// Status counts what a member's worker has done since it was created.
type Status struct {
	Running   int64 `json:"running"`   // now
	Queued    int64 `json:"queued"`    // in the pages that this member listed last, which may be a while ago
	Done      int64 `json:"done"`      // calls that ended with a result here
	Failed    int64 `json:"failed"`    // calls that failed for good here
	Cancelled int64 `json:"cancelled"` // calls that ended here because they were cancelled while they ran
	Retried   int64 `json:"retried"`   // attempts that failed and will be retried
	Handled   int64 `json:"handled"`   // runs of functions that follow a failed call
	Released  int64 `json:"released"`  // calls that were returned because the member left or its lease expired
	Lost      int64 `json:"lost"`      // runs whose outcome was not written: another member has the call, or this one stopped
	Expired   int64 `json:"expired"`   // outcomes that no caller collected, removed after their retention
	Unread    int64 `json:"unread"`    // documents that could not be decoded and were left unchanged
}

// Status returns the present counters.
func (w *Worker) Status() Status {
	c := &w.counts
	return Status{
		Running: c.running.Load(), Queued: c.queued.Load(), Done: c.done.Load(), Failed: c.failed.Load(),
		Cancelled: c.cancelled.Load(),
		Retried:   c.retried.Load(), Handled: c.handled.Load(), Released: c.released.Load(), Lost: c.lost.Load(),
		Expired: c.expired.Load(), Unread: c.bad.Load(),
	}
}
