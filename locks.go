package rota

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/status"
	"github.com/rota-run/rota/store"
)

// What is used by name. Values of these types hold nothing: they are locks, and are written as JSON texts, so they can
// be arguments of functions that run on another member. There, bind one with its On method.
type (
	// Lock is a lock that at most one holds.
	Lock = lock.Lock
	// Semaphore is one that at most so many hold.
	Semaphore = lock.Semaphore
	// Held is a lock, or a place of a semaphore, until it is released or lost.
	Held = lock.Held
	// Status is a small value that one reports and others follow.
	Status = status.Status
	// StatusReport is what was reported last.
	StatusReport = status.Report
)

// The errors of locks and statuses that a caller can act on.
var (
	ErrHeld  = lock.ErrHeld    // TryAcquire: another process holds the lock
	ErrLost  = lock.ErrLost    // cause in the context of a lock: the lock was lost
	ErrStale = status.ErrStale // a report with a larger token exists
	ErrNone  = status.ErrNone  // there is no report yet

	ErrReleased = lock.ErrReleased // cause in the context of a lock: the lock was released
	ErrCrowded  = lock.ErrCrowded  // the queue of the lock is full
)

// LocksOptions are options of OpenLocks; the zero value works.
type LocksOptions struct {
	TTL        time.Duration           // how long others wait for a silent holder; default 10 s
	Owner      string                  // what people read who look who holds a lock
	NoSessions bool                    // heartbeats alone, also where the store has sessions
	Guard      protocol.Guard          // see Config.Guard
	Logger     *slog.Logger            // default: discard
	Clock      func() protocol.Instant // see Config.Clock
}

// Locks are locks, semaphores and statuses in a store, for a process that is no member. A [Member] has them too, and
// what `rota run` runs has them by [LocksFrom]. Its methods may be called from any goroutine.
type Locks struct {
	docs  store.Docs
	locks *lock.Client
	ttl   time.Duration
}

// OpenLocks makes no call to the store, which stays the caller's.
func OpenLocks(s store.Docs, o LocksOptions) (*Locks, error) {
	c, err := lock.NewClient(s, lock.Options(o))
	if err != nil {
		return nil, fmt.Errorf("open locks: %w", err)
	}
	return &Locks{docs: s, locks: c, ttl: cmp.Or(o.TTL, 10*time.Second)}, nil
}

// Lock gives the lock of a name.
func (n *Locks) Lock(name string) Lock { return n.locks.Lock(name) }

// Semaphore gives the semaphore of a name, with so many places; all who use it must say the same number.
func (n *Locks) Semaphore(name string, places int) Semaphore { return n.locks.Semaphore(name, places) }

// Status gives the status of a name.
func (n *Locks) Status(name string) Status { return status.New(n.docs, name) }

// Close lets go of all locks; see lock.Client.Close.
func (n *Locks) Close(ctx context.Context) error { return n.locks.Close(ctx) }

type locksKey struct{}

// WithLocks is a ctx with locks for what runs under it.
func WithLocks(ctx context.Context, n *Locks) context.Context {
	return context.WithValue(ctx, locksKey{}, n)
}

// LocksFrom are the locks of the member that runs the task or function that ctx belongs to; nil for any other ctx. What
// the guardian of the member knows of, others have at once when its process is killed.
func LocksFrom(ctx context.Context) *Locks {
	n, _ := ctx.Value(locksKey{}).(*Locks)
	return n
}

// closeSoon closes within a part of the TTL, after which others notice by themselves.
func (n *Locks) closeSoon(logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), n.ttl/3)
	defer cancel()
	if err := n.Close(ctx); err != nil && logger != nil {
		logger.Warn("let go of locks", "err", err)
	}
}

// Lock gives the lock of a name. What the member holds is let go of when it has left.
func (m *Member) Lock(name string) Lock { return m.locks.Lock(name) }

// Semaphore gives the semaphore of a name, with so many places; all who use it must say the same number.
func (m *Member) Semaphore(name string, places int) Semaphore { return m.locks.Semaphore(name, places) }

// Status gives the status of a name.
func (m *Member) Status(name string) Status { return m.locks.Status(name) }
