package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Sessions are the sessions of one handle, on a store with leases or vigils.
type Sessions struct {
	rows   *Rows
	leases driver.Leaser
	vigils driver.Vigils // nil: there are leases
	log    *slog.Logger

	mu     sync.Mutex
	open   map[*Session]struct{}
	closed bool
	inside sync.WaitGroup // goroutines; Add only with mu held and not closed
}

// NewSessions makes sessions whose documents are rows. Those of l are leases on the same store.
func NewSessions(r *Rows, l driver.Leaser, log *slog.Logger) *Sessions {
	return &Sessions{rows: r, leases: l, log: log, open: map[*Session]struct{}{}}
}

// Session is a lease, and when it ends by the clock of its owner; or a vigil, which knows no time. Each Put renews a
// lease. A goroutine renews it when there was no Put for half of the ttl: members, which write every third of the ttl,
// do not pay for twice as many requests.
type Session struct {
	of    *Sessions
	hold  driver.Hold
	lease driver.Lease // nil: the hold is a vigil
	docs  *Docs        // of the hold
	done  chan struct{}
	ctx   context.Context //nolint:containedctx // ends with the session
	stop  context.CancelFunc

	mu    sync.Mutex
	until time.Time // when it ends, unless it is renewed
	ended bool
	gone  bool // in the store, too
}

var (
	_ store.EndableSession = (*Session)(nil)
	_ store.Renewer        = (*Session)(nil)
)

// onHold are rows that are tied to a hold.
type onHold struct {
	Driver
	hold driver.Hold
}

// Swap implements driver.Documents.
func (o onHold) Swap(ctx context.Context, op driver.Op, _ ...driver.Op) (driver.Version, error) {
	return o.hold.Swap(ctx, op)
}

// Open begins a session. The store may make the ttl longer.
func (s *Sessions) Open(ctx context.Context, ttl time.Duration) (*Session, error) {
	if ttl <= 0 {
		return nil, fmt.Errorf("open session: a ttl of %v: give a positive one", ttl)
	}
	if s.vigils != nil {
		return s.openVigil(ctx, ttl)
	}
	lease, err := s.leases.Lease(ctx, ttl)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return s.begin(&Session{hold: lease, lease: lease, until: lease.Began().Add(lease.TTL())})
}

// begin makes a session of what holds its rows.
func (s *Sessions) begin(n *Session) (*Session, error) {
	rows := NewRows(onHold{s.rows.Driver, n.hold}, s.rows.NewName())
	n.of, n.done, n.docs = s, make(chan struct{}), &Docs{rows: rows, native: true}
	n.ctx, n.stop = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		n.stop()
		n.hold.Close() // it holds nothing
		return nil, fmt.Errorf("open session: %w", store.ErrClosed)
	}
	s.open[n] = struct{}{}
	if v, ok := n.hold.(driver.Vigil); ok && v.Ended() == nil {
		context.AfterFunc(n.ctx, n.hold.Close)
		return n, nil // no goroutine waits for what cannot come
	}
	s.inside.Go(n.run)
	return n, nil
}

// End ends the session of another process, by its key.
func (s *Sessions) End(ctx context.Context, key string) error {
	end := s.endVigil
	if s.vigils == nil {
		end = s.leases.EndLease
	}
	if err := end(ctx, key); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// Close ends all sessions, and tells the store, as long as ctx lasts: documents vanish later where it does not answer.
func (s *Sessions) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	var ends sync.WaitGroup
	for n := range s.open { // order-free: they end at the same time
		ends.Go(func() {
			if n.end() {
				_ = n.hold.End(ctx) // else it ends later by itself
			}
		})
	}
	s.mu.Unlock()
	ends.Wait()
}

// Wait returns when no goroutine is left, after Close and the driver's.
func (s *Sessions) Wait() { s.inside.Wait() }

// EndKey implements store.EndableSession.
func (n *Session) EndKey(docs ...string) store.EndKey {
	if v, ok := n.hold.(driver.Vigil); ok {
		return v.EndKey()
	}
	l, ok := n.lease.(driver.RowLease)
	if !ok {
		return store.EndKey{Text: n.lease.Key()}
	}
	var keys []string
	for _, doc := range docs {
		keys = append(keys, docKey(doc))
	}
	return store.EndKey{Text: l.KeyOf(keys...)}
}

// Done implements store.Session. It is closed when the store says that the hold is gone; of a lease at the latest when
// its time has passed since the last renewal was sent that was acknowledged.
func (n *Session) Done() <-chan struct{} { return n.done }

// end closes Done, once; it returns whether this call did.
func (n *Session) end() bool {
	n.mu.Lock()
	first := !n.ended
	n.ended = true
	n.mu.Unlock()
	if !first {
		return false
	}
	n.of.mu.Lock()
	delete(n.of.open, n)
	n.of.mu.Unlock()
	close(n.done)
	n.stop()
	return true
}

// left is for how long the session lasts from now on; false if it has ended.
func (n *Session) left() (time.Duration, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lease == nil {
		return 0, !n.ended
	}
	left := time.Until(n.until)
	return left, !n.ended && left > 0
}

// run ends the session when its time is over, and renews it if nobody else does.
func (n *Session) run() {
	defer n.hold.Close()
	if v, ok := n.hold.(driver.Vigil); ok {
		n.watch(v)
		return
	}
	third, half := n.lease.TTL()/3, n.lease.TTL()/2
	timer := time.NewTimer(half)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-n.done:
			return
		}
		left, _ := n.left()
		if left > half {
			timer.Reset(left - half)
			continue
		}
		again := n.look(third)
		left, _ = n.left()
		timer.Reset(min(again, max(left, third/100)))
	}
}

// look renews the session, or ends it if its time is over; it returns when to look again. A lease that was not renewed
// in time may live on where the store was away: it is ended, so that nobody waits for that.
func (n *Session) look(third time.Duration) time.Duration {
	left, ok := n.left()
	if !ok {
		if n.end() {
			ctx, cancel := context.WithTimeout(context.Background(), n.lease.TTL())
			defer cancel()
			_ = n.endHold(ctx) // see Close
		}
		return third
	}
	ctx, cancel := context.WithTimeout(n.ctx, left)
	defer cancel()
	if err := n.renew(ctx); err != nil {
		n.of.log.Debug("renew a session", "err", err)
		return third / 10
	}
	return third
}

// renew renews the lease. An error says that nothing of what the caller wants was begun; ErrSession: the session is
// over.
func (n *Session) renew(ctx context.Context) error {
	asked, err := n.lease.Renew(ctx)
	if errors.Is(err, store.ErrSession) {
		n.nowGone()
		n.end()
	}
	if err != nil {
		return err
	}
	return n.renewed(asked)
}

// renewed notes an answer to a renewal.
func (n *Session) renewed(asked time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended || time.Until(n.until) <= 0 { // it stays so, whatever the store says
		return fmt.Errorf("%w: it was not renewed in time", store.ErrSession)
	}
	if until := asked.Add(n.lease.TTL()); until.After(n.until) {
		n.until = until
	}
	return nil
}

// Put implements store.Session. Under a lease the document is written after the renewal was acknowledged.
func (n *Session) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return n.write(ctx, d, false)
}

// Renew implements store.Renewer.
func (n *Session) Renew(ctx context.Context, d store.Doc) (store.Version, error) {
	return n.write(ctx, d, d.Version != "")
}

func (n *Session) write(ctx context.Context, d store.Doc, beat bool) (store.Version, error) {
	v, err := n.put(ctx, d, beat)
	if errors.Is(err, store.ErrSession) {
		n.end()
	}
	if err != nil {
		return "", fmt.Errorf("with session: %w", err)
	}
	return v, nil
}

func (n *Session) put(ctx context.Context, d store.Doc, beat bool) (store.Version, error) {
	if err := n.docs.check(d); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if _, ok := n.left(); !ok {
		return "", store.ErrSession
	}
	if n.lease == nil {
		return n.docs.write(ctx, d, beat)
	}
	if l, ok := n.lease.(driver.RowLease); ok {
		v, err := n.docs.write(ctx, d, beat)
		if err == nil && n.renewed(l.Renewed()) != nil {
			err = fmt.Errorf("put %q: %w: the session ended before the answer came", d.Key, store.ErrUnknown)
		}
		return v, err
	}
	if err := n.renew(ctx); err != nil {
		return "", fmt.Errorf("put %q: %w", d.Key, err)
	}
	v, err := n.docs.write(ctx, d, beat)
	if _, ok := n.left(); err == nil && !ok {
		return "", fmt.Errorf("put %q: %w: the session has ended meanwhile", d.Key, store.ErrUnknown)
	}
	return v, err
}

// Close implements store.Session. What has ended here because its time was over may live on in the store.
func (n *Session) Close(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("close session: %w", context.Cause(ctx))
	}
	n.end()
	if err := n.endHold(ctx); err != nil {
		return fmt.Errorf("close session: %w", err)
	}
	return nil
}

// endHold ends the hold in the store, unless that is done.
func (n *Session) endHold(ctx context.Context) error {
	n.mu.Lock()
	gone := n.gone
	n.mu.Unlock()
	if gone {
		return nil
	}
	err := n.hold.End(ctx)
	if err == nil {
		n.nowGone()
	}
	return err
}

func (n *Session) nowGone() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone = true
}
