package lock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Lock is a named lock with at most one holder. It is only a name and holds nothing itself; two with one name are the
// same lock.
type Lock struct{ s Semaphore }

// Lock returns the named lock.
func (c *Client) Lock(name string) Lock {
	return Lock{Semaphore{c: c, name: name, size: 1, kind: "lock"}}
}

// Name returns the name.
func (l Lock) Name() string { return l.s.name }

// Acquire waits in the queue until it holds the lock or ctx ends. ctx bounds only the waiting. While the store is
// unreachable it retries. The package comment lists the promises.
func (l Lock) Acquire(ctx context.Context) (*Held, error) { return l.s.Acquire(ctx) }

// TryAcquire takes the lock if it is free, without queueing, and returns [ErrHeld] if it is not. It checks whether the
// holder is alive; a silent holder counts as dead once the attempts of this client, or a waiter, have observed its
// silence for long enough.
func (l Lock) TryAcquire(ctx context.Context) (*Held, error) { return l.s.TryAcquire(ctx) }

// Do acquires the lock, calls f and releases the lock, also if f panics. The context of f ends with ctx and with the
// lock. The error is f's, or that of acquiring the lock; if f succeeded but the lock had been lost by then, it is
// [ErrLost].
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

// Semaphore returns the named semaphore of size n, 1 to 1000. All users must use the same n: another size is refused
// with a [SizeError] while there is a holder or a waiter, and becomes the size otherwise. A lock and a semaphore of the
// same name are independent.
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
	var lost, released error
	func() {
		defer func() { // also where f panics or ends its goroutine: the process may go on
			lost = h.Err()
			bounded, stop := context.WithTimeout(context.WithoutCancel(ctx), s.c.patience())
			defer stop()
			released = h.Release(bounded)
		}()
		err = f(h.r.p.leased(inner, cancel), h.Token())
	}()
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

// State returns the holders of the semaphore, for people; it may be stale, and includes dead processes until another
// one has removed them.
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

// MarshalText implements encoding.TextMarshaler with the name, so that a lock can be an argument of a function that
// runs elsewhere.
func (l Lock) MarshalText() ([]byte, error) {
	if err := store.CheckName(l.s.name); err != nil {
		return nil, fmt.Errorf("write a lock: %w", err)
	}
	return []byte(l.s.name), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. The lock has no client then: see [Lock.On].
func (l *Lock) UnmarshalText(text []byte) error {
	if err := store.CheckName(string(text)); err != nil {
		return fmt.Errorf("read a lock: %w", err)
	}
	*l = Lock{Semaphore{name: string(text), size: 1, kind: "lock"}}
	return nil
}

// On returns the same lock, taken through a client. Use it for a lock that came as an argument.
func (l Lock) On(p interface{ Lock(name string) Lock }) Lock { return p.Lock(l.Name()) }

// String returns the name.
func (l Lock) String() string { return l.s.name }

// times separates the name and the size of a semaphore; no name contains it.
const times = "*"

// MarshalText implements encoding.TextMarshaler with the name and the size, like "db*3".
func (s Semaphore) MarshalText() ([]byte, error) {
	if err := s.checkText(); err != nil {
		return nil, fmt.Errorf("write a semaphore: %w", err)
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. The semaphore has no client then: see [Semaphore.On].
func (s *Semaphore) UnmarshalText(text []byte) error {
	name, size, _ := strings.Cut(string(text), times)
	n, err := strconv.Atoi(size)
	if err != nil {
		return fmt.Errorf("read semaphore %.40q: want a name and a number of places, like %q", text, "db"+times+"3")
	}
	next := Semaphore{name: name, size: n, kind: "semaphore"}
	if err := next.checkText(); err != nil {
		return fmt.Errorf("read a semaphore: %w", err)
	}
	*s = next
	return nil
}

// On returns the same semaphore, taken through a client. Use it for a semaphore that came as an argument.
func (s Semaphore) On(p interface {
	Semaphore(name string, n int) Semaphore
}) Semaphore {
	return p.Semaphore(s.name, s.size)
}

// String returns the name and the size.
func (s Semaphore) String() string { return s.name + times + strconv.Itoa(s.size) }

func (s Semaphore) checkText() error {
	if s.size < 1 || s.size > maxSize {
		return fmt.Errorf("%d places: give 1 to %d", s.size, maxSize)
	}
	return store.CheckName(s.name)
}
