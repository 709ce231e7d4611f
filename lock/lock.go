package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Lock is a named lock with at most one holder. It is only a name and holds nothing itself; two with one name are the same lock.
type Lock struct{ s Semaphore }

// Lock returns the named lock.
func (c *Client) Lock(name string) Lock {
	return Lock{Semaphore{c: c, name: name, size: 1, kind: "lock"}}
}

// Name returns the name.
func (l Lock) Name() string { return l.s.name }

// Acquire waits in the queue until it holds the lock or ctx ends. ctx bounds only the waiting. While the store is unreachable it retries. The package
// comment lists the promises.
func (l Lock) Acquire(ctx context.Context) (*Held, error) { return l.s.Acquire(ctx) }

// TryAcquire takes the lock if it is free, without queueing, and returns [ErrHeld] if it is not. It checks whether the holder is alive; a silent holder
// counts as dead once the attempts of this client, or a waiter, have observed its silence for long enough.
func (l Lock) TryAcquire(ctx context.Context) (*Held, error) { return l.s.TryAcquire(ctx) }

// Do acquires the lock, calls f and releases the lock. The context of f ends with ctx and with the lock. The error is f's, or that of acquiring the lock;
// if f succeeded but the lock had been lost by then, it is [ErrLost].
func (l Lock) Do(ctx context.Context, f func(ctx context.Context, token cluster.Token) error) error {
	return l.s.Do(ctx, f)
}

// State returns the holder and the waiters, for people; it may be stale.
func (l Lock) State(ctx context.Context) (State, error) { return l.s.State(ctx) }

// Semaphore is a named semaphore of a fixed size: each holder has its own token. It is only a name, like [Lock].
type Semaphore struct {
	c    *Client
	name string
	size int
	kind string
}

// Semaphore returns the named semaphore of size n, 1 to 1000. All users must use the same n: another size is refused with a [SizeError] while
// there is a holder or a waiter, and becomes the size otherwise. A lock and a semaphore of the same name are independent.
func (c *Client) Semaphore(name string, n int) Semaphore {
	return Semaphore{c: c, name: name, size: n, kind: "semaphore"}
}

// Name returns the name.
func (s Semaphore) Name() string { return s.name }

// Size returns the number of places.
func (s Semaphore) Size() int { return s.size }

func (s Semaphore) what() string { return fmt.Sprintf("%s %q", s.kind, s.name) }

// key is that of the document. It is in no folder that members watch.
func (s Semaphore) key() string { return s.kind + "s/" + s.name + "/table" }

func (s Semaphore) check() error {
	if s.c == nil {
		return errors.New("it belongs to no client: get it from one, or use On")
	}
	return s.checkText()
}

// Acquire waits in the queue until it holds a place or ctx ends; see [Lock.Acquire].
func (s Semaphore) Acquire(ctx context.Context) (*Held, error) { return s.acquire(ctx, false) }

// TryAcquire takes a place if one is free; see [Lock.TryAcquire].
func (s Semaphore) TryAcquire(ctx context.Context) (*Held, error) { return s.acquire(ctx, true) }

func (s Semaphore) acquire(ctx context.Context, try bool) (*Held, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("acquire %s: %w", s.what(), err)
	}
	ctx, cancel := s.c.bound(ctx, try)
	defer cancel()
	for {
		h, err := s.claim(ctx, try)
		if h != nil {
			return h, nil
		}
		if !errors.Is(err, ErrLost) || ctx.Err() != nil {
			return nil, fmt.Errorf("acquire %s: %w", s.what(), err)
		}
		// The heartbeat was lost while we waited. With another one we go to the end of the queue.
	}
}

// claim makes one claim, under one heartbeat.
func (s Semaphore) claim(ctx context.Context, try bool) (*Held, error) {
	p, err := s.c.enter(ctx)
	if err != nil {
		return nil, err
	}
	r := s.c.newClaiming(p, s.key(), terms{size: s.size, try: try})
	s.c.track(r, true)
	h, again, err := r.acquire(ctx, s.what())
	if !again {
		return h, err
	}
	r.stopLater()
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return nil, ErrLost
}

// Do acquires a place, calls f and releases the place; see [Lock.Do].
func (s Semaphore) Do(ctx context.Context, f func(ctx context.Context, token cluster.Token) error) error {
	h, err := s.Acquire(ctx)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })()
	err = f(h.r.p.leased(inner, cancel), h.Token())
	lost := h.Err()
	bounded, stop := context.WithTimeout(context.WithoutCancel(ctx), s.c.patience())
	defer stop()
	released := h.Release(bounded)
	switch {
	case err != nil:
		return err
	case lost != nil:
		return lost
	}
	return released
}

// State lists the holders and the waiters of a lock or semaphore.
type State struct {
	Size    int           `json:"size"`  // 0 if it has never been used
	Token   cluster.Token `json:"token"` // the newest token
	Holders []Claim       `json:"holders"`
	Waiting []Claim       `json:"waiting"` // in queue order
}

// Claim is one holder or waiter.
type Claim struct {
	Owner string        `json:"owner,omitempty"` // Options.Owner of its client
	Token cluster.Token `json:"token,omitempty"` // of a holder
}

// State returns the holders of the semaphore, for people; it may be stale, and includes dead processes until another one has removed them.
func (s Semaphore) State(ctx context.Context) (State, error) {
	if err := s.check(); err != nil {
		return State{}, fmt.Errorf("read %s: %w", s.what(), err)
	}
	d, err := s.c.store.Get(ctx, s.key())
	if errors.Is(err, store.ErrNotFound) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("read %s: %w", s.what(), err)
	}
	t, err := decodeTable(d.Value)
	if err != nil {
		return State{}, fmt.Errorf("read %s: %w", s.what(), err)
	}
	return State{Size: t.Size, Token: t.Token, Holders: claimsOf(t.Holders), Waiting: claimsOf(t.Waiters)}, nil
}

func claimsOf(entries []entry) []Claim {
	var out []Claim
	for _, e := range entries {
		out = append(out, Claim{Owner: e.Owner, Token: e.Token})
	}
	return out
}
