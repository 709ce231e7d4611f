package full

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/log"
	inner "github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/logqueue"
)

// closePatience is how long Close waits for the store to end the sessions.
const closePatience = 2 * time.Second

// lifeLength is that of the name of a handle.
const lifeLength = 16

// Options of [New] and [NewBare].
type Options struct {
	// Place says where the store lies, for errors.
	Place string
	// ReadOnly refuses every change before anything is sent.
	ReadOnly bool
	// Logger gets background events; default: discard.
	Logger *slog.Logger
}

// Driver is a driver with documents and leases.
type Driver interface {
	engine.Driver
	driver.Leaser
}

// Bare is one handle on a store without leases and watches: documents and a log. It is safe for concurrent use.
type Bare struct {
	driver  engine.Driver
	docs    *engine.Docs
	records *log.Log
	queues  *logqueue.Store
	o       Options

	life *inner.Life
}

// Vigilant is a driver with documents and vigils.
type Vigilant interface {
	engine.Driver
	driver.Vigils
}

// Store is one handle on a store that has leases or vigils, and watches too. It is safe for concurrent use.
type Store struct {
	*Bare
	sessions *engine.Sessions
}

var (
	_ store.Full         = (*Bare)(nil)
	_ store.GetMany      = (*Bare)(nil)
	_ store.LogWith      = (*Bare)(nil)
	_ store.Seeder       = (*Bare)(nil)
	_ store.Full         = (*Store)(nil)
	_ store.Watcher      = (*Store)(nil)
	_ store.LogWatcher   = (*Store)(nil)
	_ store.Sessions     = (*Store)(nil)
	_ store.SessionEnder = (*Store)(nil)
)

// NewBare makes a handle of a driver, which is the handle's to close.
func NewBare(d engine.Driver, o Options) *Bare {
	rows := engine.NewRows(d, rand.Text()[:lifeLength])
	return bare(rows, engine.NewDocs(rows).Untombed(), o)
}

func bare(rows *engine.Rows, docs *engine.Docs, o Options) *Bare {
	return &Bare{driver: rows.Driver, o: o, docs: docs, records: log.Open(rows, log.Main),
		queues: logqueue.New(&journals{rows}), life: inner.NewLife()}
}

// New makes a handle of a driver, which is the handle's to close. Its sessions are leases.
func New(d Driver, o Options) *Store {
	o = o.logged()
	rows := engine.NewRows(d, rand.Text()[:lifeLength])
	return &Store{bare(rows, engine.NewDocs(rows), o), engine.NewSessions(rows, d, o.Logger)}
}

// NewVigilant makes a handle of a driver, which is the handle's to close. Its sessions last as long as their process.
func NewVigilant(d Vigilant, o Options) *Store {
	o = o.logged()
	rows := engine.NewRows(d, rand.Text()[:lifeLength])
	return &Store{bare(rows, engine.NewDocs(rows), o), engine.NewVigils(rows, d, o.Logger)}
}

func (o Options) logged() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Close implements store.Store. A second call does nothing.
func (s *Bare) Close() error {
	if !s.life.Close() {
		return nil
	}
	return s.stop()
}

// stop ends what is under way.
func (s *Bare) stop() error {
	s.life.Cancel(store.ErrClosed)
	err := s.driver.Close()
	s.life.End()
	return s.placed(err)
}

// Close implements store.Store. The sessions of this handle end at once. Close tells the store, but does not wait long:
// if that does not answer, the documents vanish when their leases run out. A second call does nothing.
func (s *Store) Close() error {
	if !s.life.Close() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	s.sessions.Close(ctx)
	err := s.stop()
	s.sessions.Wait()
	return err
}

// placed says where a call failed.
func (s *Bare) placed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.o.Place, err)
}

// enter begins a call, or returns why the handle takes none. The context that it returns also ends with the handle.
// After a nil error the caller must call leave.
func (s *Bare) enter(ctx context.Context, changes bool) (calling context.Context, leave func(), err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	release, open := s.life.Hold()
	switch {
	case !open:
		return nil, nil, store.ErrClosed
	case changes && s.o.ReadOnly:
		release()
		return nil, nil, store.ErrReadOnly
	}
	calling, stop, err := s.life.Enter(ctx)
	if err != nil {
		release()
		return nil, nil, err
	}
	return calling, func() { stop(); release() }, nil
}

// The kinds of calls.
const (
	looks   = false
	changes = true
)

// call makes one call of a handle. Its error tells where, and why ctx has ended.
func call[T any](ctx context.Context, s *Bare, changes bool, do func(context.Context) (T, error)) (T, error) {
	var none T
	calling, leave, err := s.enter(ctx, changes)
	if err != nil {
		return none, s.placed(err)
	}
	defer leave()
	r, err := do(calling)
	if cause := context.Cause(calling); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return r, s.placed(err)
}

// change is call for calls that change something and answer nothing.
func (s *Bare) change(ctx context.Context, do func(context.Context) error) error {
	_, err := call(ctx, s, changes, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return err
}
