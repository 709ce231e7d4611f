package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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

// Faulty is one handle of a store whose calls fail according to a plan. It is safe for concurrent use. All its outcomes are allowed
// by the rules of package store, so a caller that fails under it is wrong.
type Faulty struct {
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

// Get implements store.Docs.
func (f *Faulty) Get(ctx context.Context, key string) (d store.Doc, err error) {
	err = f.read(ctx, "get", key, func() error { d, err = f.inner.Get(ctx, key); return err })
	return d, err
}

// Gets implements store.GetMany. If the inner store lacks it, it reads one document after the other.
func (f *Faulty) Gets(ctx context.Context, keys []string) (docs []store.Doc, err error) {
	err = f.read(ctx, "gets", strings.Join(keys, " "), func() error { docs, err = store.GetAll(ctx, f.inner, keys); return err })
	return docs, err
}

// List implements store.Docs.
func (f *Faulty) List(ctx context.Context, prefix string) (docs []store.Doc, err error) {
	err = f.read(ctx, "list", prefix, func() error { docs, err = f.inner.List(ctx, prefix); return err })
	return docs, err
}

// putting is a put whose result is kept only if the answer arrives.
func (f *Faulty) putting(ctx context.Context, op string, d store.Doc, put func(context.Context, store.Doc) (store.Version, error)) (store.Version, error) {
	d.Value = slices.Clone(d.Value)
	var v store.Version // a late write sets it too, but only when nobody looks at it any more
	err := f.write(ctx, op, d.Key, func(ctx context.Context) (err error) {
		v, err = put(ctx, d)
		return err
	})
	if err != nil {
		return "", err
	}
	return v, nil
}

// Put implements store.Docs.
func (f *Faulty) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return f.putting(ctx, "put", d, f.inner.Put)
}

// Delete implements store.Docs.
func (f *Faulty) Delete(ctx context.Context, key string, v store.Version) error {
	return f.write(ctx, "delete", key, func(ctx context.Context) error { return f.inner.Delete(ctx, key, v) })
}

// Watch implements store.Watcher.
func (f *Faulty) Watch(ctx context.Context, prefix string) (hints <-chan struct{}, err error) {
	err = f.read(ctx, "watch", prefix, func() error { hints, err = f.inner.Watch(ctx, prefix); return err })
	return hints, err
}

// WatchLog implements store.LogWatcher.
func (f *Faulty) WatchLog(ctx context.Context) (hints <-chan struct{}, err error) {
	err = f.read(ctx, "watchlog", "", func() error { hints, err = f.inner.WatchLog(ctx); return err })
	return hints, err
}

// Append implements store.Log.
func (f *Faulty) Append(ctx context.Context, data []byte) (uint64, error) {
	data = slices.Clone(data)
	var index uint64
	err := f.write(ctx, "append", "", func(ctx context.Context) (err error) {
		index, err = f.inner.Append(ctx, data)
		return err
	})
	if err != nil {
		return 0, err
	}
	return index, nil
}

// Read implements store.Log.
func (f *Faulty) Read(ctx context.Context, after uint64, limit int) (page store.Page, err error) {
	err = f.read(ctx, "read", "", func() error { page, err = f.inner.Read(ctx, after, limit); return err })
	return page, err
}

// Snapshot implements store.Log.
func (f *Faulty) Snapshot(ctx context.Context) (s store.Record, err error) {
	err = f.read(ctx, "snapshot", "", func() error { s, err = f.inner.Snapshot(ctx); return err })
	return s, err
}

// SaveSnapshot implements store.Log.
func (f *Faulty) SaveSnapshot(ctx context.Context, s store.Record) error {
	s.Data = slices.Clone(s.Data)
	return f.write(ctx, "save", "", func(ctx context.Context) error { return f.inner.SaveSnapshot(ctx, s) })
}

// Trim implements store.Log.
func (f *Faulty) Trim(ctx context.Context, index uint64) error {
	return f.write(ctx, "trim", "", func(ctx context.Context) error { return f.inner.Trim(ctx, index) })
}

// SessionsExpire implements store.Sessions.
func (f *Faulty) SessionsExpire() bool { return f.inner.SessionsExpire() }

// OpenSession implements store.Sessions. A session whose answer is lost is not kept, so no outcome is unknown here.
func (f *Faulty) OpenSession(ctx context.Context, ttl time.Duration) (s store.Session, err error) {
	err = f.read(ctx, "session", "", func() error { s, err = f.inner.OpenSession(ctx, ttl); return err })
	if err != nil {
		return nil, err
	}
	return &faultySession{Session: s, store: f}, nil
}

// Close implements store.Store.
func (f *Faulty) Close() error { return f.inner.Close() }

type faultySession struct {
	store.Session
	store *Faulty
}

// Put implements store.Session.
func (s *faultySession) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return s.store.putting(ctx, "sessionput", d, s.Session.Put)
}

// Close implements store.Session.
func (s *faultySession) Close(ctx context.Context) error {
	return s.store.write(ctx, "sessionclose", "", s.Session.Close)
}
