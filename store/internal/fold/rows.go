package fold

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/log"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// Journal is what rows are folded from. It is used for nothing else.
type Journal interface {
	driver.Journal
	driver.JournalValues
}

// Options of [New]. Handles on one journal may use different ones.
type Options struct {
	Limits    driver.Limits // of the rows; a record of the journal has up to 600 bytes more than a value
	SaveEvery int           // records after which a handle saves a snapshot, and trims all but the last so many records
	Confirm   bool          // a read appends a mark first: the journal's end may be reported by a replaced leader
	Timeout   time.Duration // of a call whose ctx does not end earlier, and of a save
	Logger    *slog.Logger  // gets errors that no call can return
}

var _ engine.Driver = (*Rows)(nil)

// Rows are one handle on rows in a journal. It is safe for concurrent use, and ends with its life.
type Rows struct {
	journal Journal
	log     *log.Log // of the journal, for its snapshots
	o       Options
	life    *inner.Life
	name    string        // random: begins the names that this handle gives
	reading chan struct{} // holds one: who reads the journal

	mu     sync.Mutex
	state  state
	begun  uint64 // readings of the journal to its end
	done   uint64 // the newest one that came to it
	marked uint64 // the newest one of these that followed a mark
	names  uint64
	waits  map[string]chan outcome // by the names of operations whose author waits
	saving bool
	due    bool // another save, of what came meanwhile
	ears   map[*ear]struct{}
	tail   *tail // reads for ears
}

// New makes rows of a journal. It sends no request.
func New(life *inner.Life, j Journal, o Options) *Rows {
	s := &Rows{
		journal: j, o: o, life: life, name: rand.Text()[:16], reading: make(chan struct{}, 1),
		waits: map[string]chan outcome{}, ears: map[*ear]struct{}{},
	}
	s.log = log.On(engine.NewRows(s, s.name), "rows", j)
	return s
}

// Limits implements driver.Driver.
func (s *Rows) Limits() driver.Limits { return s.o.Limits }

// Close implements driver.Driver: the life ends with its owner.
func (s *Rows) Close() error { return nil }

// Skipped is the number of records seen by this handle that are not operations.
func (s *Rows) Skipped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.skipped
}

// enter begins a call.
func (s *Rows) enter(ctx context.Context) (calling context.Context, leave func(), err error) {
	calling, out, err := s.life.Enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	calling, cancel := context.WithTimeoutCause(calling, s.o.Timeout, errTimeout)
	return calling, func() { cancel(); out() }, nil
}

var errTimeout = fmt.Errorf("%w: no answer within the timeout", store.ErrUnavailable)

// Read implements driver.Documents: all rows are of one instant.
func (s *Rows) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return rows, err
	}
	defer leave()
	if err := s.catchUp(ctx, s.o.Confirm && !q.Stale); err != nil {
		return rows, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.From != "" {
		ordered.From(&s.state.rows, q.From, func(key string, r row) bool {
			if rows.More = key < q.To && len(rows.Range) == q.Limit; key >= q.To || rows.More {
				return false
			}
			rows.Range = append(rows.Range, r.public(key))
			return true
		})
	}
	for _, key := range q.Keys {
		r, _ := ordered.Get(&s.state.rows, key)
		rows.Keys = append(rows.Keys, r.public(key))
	}
	return rows, nil
}

// Swap implements driver.Documents, for one row.
func (s *Rows) Swap(ctx context.Context, w driver.Op, with ...driver.Op) (driver.Version, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	if len(with) > 0 || len(w.Value) > s.o.Limits.Value {
		return "", fmt.Errorf("%q: %d bytes with %d other rows, at most %d with none: %w",
			w.Key, len(w.Value), len(with), s.o.Limits.Value, store.ErrTooLarge)
	}
	o := op{kindPut, w.Name, w.Key, indexOf(w.If), w.Value}
	switch {
	case w.Delete:
		o.kind, o.value = kindDelete, nil
	case w.Beat:
		o.kind = kindBeat
	}
	out, err := s.decide(ctx, o)
	if err != nil {
		return "", err
	}
	return out.version, out.err
}

// decide appends an operation, and returns what was decided about it.
func (s *Rows) decide(ctx context.Context, o op) (outcome, error) {
	if !s.hasBegun() { // with a snapshot, which must not be newer than the change: it does not say what became of it
		if err := s.catchUp(ctx, false); err != nil {
			return outcome{}, err
		}
	}
	decided := make(chan outcome, 1)
	s.mu.Lock()
	s.waits[o.name] = decided
	s.mu.Unlock()
	defer s.forget(o.name)
	data := o.encode()
	at, err := s.log.Join(ctx, data)
	if err != nil {
		return outcome{}, inner.Because(ctx, err)
	}
	if !s.follow(store.Record{Index: at, Data: data}) {
		err = s.catchUp(ctx, false)
	}
	select {
	case out := <-decided:
		return out, nil
	default:
	}
	if err == nil {
		err = errors.New("the journal was trimmed past the change while this handle read it")
	}
	return outcome{}, fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

func (s *Rows) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waits, name)
}

// Free implements driver.Documents.
func (s *Rows) Free(ctx context.Context, keys []string) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil || len(keys) == 0 {
		return err
	}
	defer leave()
	_, err = s.journal.Append(ctx, [][]byte{op{kindFree, s.newName(), keys[0], 0, []byte(keys[len(keys)-1])}.encode()})
	return err
}

// newName is a name that nobody else gives.
func (s *Rows) newName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names++
	return fmt.Sprintf("%s.%d", s.name, s.names)
}

// ear is one who watches.
type ear struct {
	prefix string
	hint   func()
}

// hint tells those who watch a key; all, if it is "". s.mu is held.
func (s *Rows) hint(key string) {
	for e := range s.ears { // order-free: each gets its own
		if key == "" || strings.HasPrefix(key, e.prefix) {
			e.hint()
		}
	}
}

// tail reads the journal as it grows, while somebody watches.
type tail struct {
	ctx context.Context //nolint:containedctx // its cause is why it has ended
	end context.CancelCauseFunc
}

// Watch implements driver.Documents.
func (s *Rows) Watch(ctx context.Context, prefix string, hint func()) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	e := &ear{prefix, hint}
	t := s.listen(e)
	defer s.unlisten(e)
	hint()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

// listen adds one who watches, and begins to read for it if nobody does.
func (s *Rows) listen(e *ear) *tail {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ears[e] = struct{}{}
	if s.tail == nil || s.tail.ctx.Err() != nil {
		t := &tail{}
		t.ctx, t.end = context.WithCancelCause(s.life.Ctx)
		s.life.Begin(func() { s.follows(t) })
		s.tail = t
	}
	return s.tail
}

func (s *Rows) unlisten(e *ear) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.ears, e); len(s.ears) == 0 {
		s.tail.end(nil)
	}
}

// follows reads the journal when it has grown, until that fails: something may have been missed then.
func (s *Rows) follows(t *tail) {
	grown := make(chan struct{}, 1)
	s.life.Begin(func() {
		t.end(s.journal.Watch(t.ctx, func() {
			select {
			case grown <- struct{}{}:
			default:
			}
		}))
	})
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-grown:
		}
		ctx, cancel := context.WithTimeoutCause(t.ctx, s.o.Timeout, errTimeout)
		err := s.catchUp(ctx, false)
		cancel()
		if err != nil {
			t.end(err)
		}
	}
}
