package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/rota-run/rota/internal/store/gate"
	"github.com/rota-run/rota/store"
)

// Outcome is the outcome of one call to a Faulty store.
type Outcome int

// The outcomes. For a read, LostRequest, LostReply and Late are like Refused: reads are never unknown.
const (
	Pass        Outcome = iota // it is done, and the answer arrives
	Refused                    // store.ErrUnavailable; not done
	LostRequest                // store.ErrUnknown; it never happens
	LostReply                  // store.ErrUnknown; it was done
	Late                       // store.ErrUnknown; it is done at the next Release
	Held                       // the call waits for Release, then it is done; if its ctx ends before, as Late
)

// Call identifies the call that a plan decides about.
type Call struct {
	Op  string // get, gets, put, delete, list, watch, append, read, snapshot, save, trim, watchlog, session, sessionput, sessionclose
	Key string // of the document, or the prefix; "" if there is none
	N   int    // number of calls on this store, including this one
}

// Plan decides the outcome of each call. It is called by one goroutine at a time, and must return quickly.
type Plan func(Call) Outcome

// Full is a store with all abilities that Faulty supports.
type Full interface {
	store.Store
	store.Docs
	store.Log
	store.Watcher
	store.LogWatcher
	store.Sessions
}

var _ Full = (*Faulty)(nil)

// gated is gate.Store, whose name is ours.
type gated = gate.Store

// Faulty is one handle of a store whose calls fail according to a plan. It is safe for concurrent use. All its outcomes
// are allowed by the rules of package store, so a caller that fails under it is wrong.
type Faulty struct {
	*gated
	inner Full

	mu       sync.Mutex
	plan     Plan
	calls    int
	outcomes map[Outcome]int
	late     []func()      // writes that Release makes, in order
	released chan struct{} // closed by the next Release
}

// NewFaulty wraps a handle; a nil plan passes everything. Closing it closes the handle.
func NewFaulty(inner Full, plan Plan) *Faulty {
	f := &Faulty{inner: inner, outcomes: make(map[Outcome]int), released: make(chan struct{})}
	f.gated = gate.New(inner, f.read, f.write)
	f.SetPlan(plan)
	return f
}

// SetPlan replaces the plan for all calls that begin later.
func (f *Faulty) SetPlan(plan Plan) {
	if plan == nil {
		plan = func(Call) Outcome { return Pass }
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = plan
}

// Count returns how many calls have had an outcome so far.
func (f *Faulty) Count(o Outcome) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outcomes[o]
}

// Release executes the late writes, in the order of their calls, and lets all held calls continue.
func (f *Faulty) Release() {
	f.mu.Lock()
	late := f.late
	f.late = nil
	close(f.released)
	f.released = make(chan struct{})
	f.mu.Unlock()
	for _, write := range late {
		write()
	}
}

// Away makes the store refuse all calls, or answer again. Then held and late calls are executed.
func (f *Faulty) Away(away bool) {
	if away {
		f.SetPlan(always(Refused))
		return
	}
	f.SetPlan(nil)
	f.Release()
}

// Break makes all calls fail in one of the possible ways, by number, and returns its name; Away(false) repairs it.
func (f *Faulty) Break(which uint64) string {
	o := Outcome(1 + which%uint64(Held))
	f.SetPlan(always(o))
	return [...]string{"pass", "refused", "lost requests", "lost replies", "late", "held"}[o]
}

func always(o Outcome) Plan { return func(Call) Outcome { return o } }

func (f *Faulty) decide(op, key string) (Outcome, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	o := f.plan(Call{Op: op, Key: key, N: f.calls})
	f.outcomes[o]++
	return o, f.released
}

func (f *Faulty) later(write func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, write)
}

func faultOf(op, key string, kind error) error {
	return fmt.Errorf("%s %q: %w (on purpose)", op, key, kind)
}

// write makes a call that changes something; do may be called later, with a ctx that does not end.
func (f *Faulty) write(ctx context.Context, op, key string, do func(context.Context) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %q: %w", op, key, context.Cause(ctx))
	}
	outcome, released := f.decide(op, key)
	effect := func() { _ = do(context.WithoutCancel(ctx)) } // nobody is left to hear the error
	switch outcome {
	case Refused:
		return faultOf(op, key, store.ErrUnavailable)
	case LostReply:
		effect()
		return faultOf(op, key, store.ErrUnknown)
	case LostRequest:
		return faultOf(op, key, store.ErrUnknown)
	case Late:
		f.later(effect)
		return faultOf(op, key, store.ErrUnknown)
	case Held:
		select {
		case <-released:
		case <-ctx.Done():
			f.later(effect)
			return errors.Join(faultOf(op, key, store.ErrUnknown), context.Cause(ctx))
		}
	}
	return do(ctx)
}

// read makes a call that changes nothing.
func (f *Faulty) read(ctx context.Context, op, key string, do func() error) error {
	outcome, released := f.decide(op, key)
	switch outcome {
	case Pass:
	case Held:
		select {
		case <-released:
		case <-ctx.Done():
			return fmt.Errorf("%s %q: %w", op, key, context.Cause(ctx))
		}
	default:
		return faultOf(op, key, store.ErrUnavailable)
	}
	return do()
}

// Gets implements store.GetMany. If the inner store lacks it, it reads one document after the other.
func (f *Faulty) Gets(ctx context.Context, keys []string) (docs []store.Doc, err error) {
	err = f.read(ctx, "gets", strings.Join(keys, " "),
		func() error { docs, err = store.GetAll(ctx, f.inner, keys); return err })
	return docs, err
}
