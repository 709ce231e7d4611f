package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Options of a [Client]; the zero value works.
type Options struct {
	// TTL is how long others wait for a silent holder; default 10 s, at least 300 ms, at most 24 h. Processes may use
	// different ones.
	TTL time.Duration
	// Owner is a text for people who inspect the lock: a member, a host. At most 128 bytes.
	Owner string
	// NoSessions uses only heartbeats, even if the store has sessions.
	NoSessions bool
	// Guard hears of the sessions of the heartbeats, so that what a killed process holds is free at once; nil for none.
	// See package node/guardian.
	Guard  protocol.Guard
	Logger *slog.Logger // default: discard
	// Clock measures TTLs; default [protocol.Now]. It must advance while the machine is suspended: otherwise a lease is
	// considered valid for too long. A test in a bubble of testing/synctest sets [protocol.NewProcessClock].
	Clock func() protocol.Instant
}

// minTTL keeps the renewals above the round trip of a store.
const (
	minTTL = 300 * time.Millisecond
	maxTTL = heartbeat.MaxTTL
)

func (o Options) withDefaults() Options {
	o.TTL = cmp.Or(o.TTL, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = protocol.Now
	}
	return o
}

func (o Options) validate() error {
	var faults []error
	if o.TTL < minTTL || o.TTL > maxTTL {
		faults = append(faults, fmt.Errorf("the TTL %s is not between %s and %s", o.TTL, minTTL, maxTTL))
	}
	if len(o.Owner) > maxText {
		faults = append(faults, fmt.Errorf("the owner %.40q… has %d bytes: at most %d are allowed", o.Owner,
			len(o.Owner), maxText))
	}
	return errors.Join(faults...)
}

// Client takes the locks of one process. One heartbeat covers all its locks, and exists only while a lock is held or
// waited for. Its methods may be called from any goroutine.
type Client struct {
	o      Options
	store  store.Docs
	life   context.Context // of what is held and waited for: ends, with the cause, when Close is called
	close  context.CancelCauseFunc
	ctx    context.Context // of what goes on in the background: ends when Close has waited for it
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	keeper *keeper // the present one; nil before the first
	seen   heartbeat.Observations
	claims map[*claiming]struct{}           // that may have something in the store
	listed map[string]heartbeat.Observation // what sweeps have seen
	shut   bool                             // nothing begins in the background any more
	fewer  chan struct{}                    // has room for one; a claim has ended
}

// NewClient makes a client over a store, which stays the caller's. It uses the Watcher and Sessions of the store if it
// has them.
func NewClient(s store.Docs, o Options) (*Client, error) {
	o = o.withDefaults()
	if s == nil {
		return nil, errors.New("make a client of locks: no store")
	}
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("make a client of locks: %w", err)
	}
	c := &Client{o: o, store: s, claims: make(map[*claiming]struct{}), fewer: make(chan struct{}, 1)}
	c.life, c.close = context.WithCancelCause(context.Background())
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Close releases everything: the contexts of all held locks end with [ErrClosed], waiters get it as an error, and the
// entries in the store are removed until ctx ends; the rest is removed by others, who find the heartbeat gone or
// silent. Close returns when all goroutines have ended. Closing again does nothing.
func (c *Client) Close(ctx context.Context) error {
	c.close(ErrClosed)
	var fault error
	for _, r := range c.open() {
		if h := r.held.Load(); h != nil {
			h.cancel(ErrClosed)
		}
		r.stopLater()
	}
	for len(c.open()) > 0 && fault == nil {
		select {
		case <-c.fewer:
		case <-ctx.Done():
			fault = context.Cause(ctx)
		}
	}
	c.cancel()
	c.mu.Lock()
	p := c.keeper
	c.keeper, c.shut = nil, true
	c.mu.Unlock()
	if p != nil {
		p.retire(ctx, ErrClosed)
	}
	c.wg.Wait()
	if fault != nil {
		return fmt.Errorf("close the client of locks: others will notice by the heartbeat: %w", fault)
	}
	return nil
}

// open are the claims that may have something in the store.
func (c *Client) open() []*claiming {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.claims))
}

// background runs f beside; when the client has been closed, at once.
func (c *Client) background(f func()) {
	c.mu.Lock()
	if !c.shut {
		c.wg.Go(f)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	f()
}

// enter finds a heartbeat whose lease is valid, or makes one, and adds a claim to it.
func (c *Client) enter(ctx context.Context) (*keeper, error) {
	for {
		p, err := c.current()
		if err != nil {
			return nil, err
		}
		select {
		case <-p.ready:
		case <-p.ctx.Done():
		case <-ctx.Done():
			p.leave()
			return nil, errors.Join(context.Cause(ctx), p.trouble())
		}
		if p.valid() {
			return p, nil
		}
		p.leave()
		if err := p.trouble(); errors.Is(err, store.ErrClosed) {
			return nil, err
		}
	}
}

// current returns the present heartbeat, with one more claim on it.
func (c *Client) current() (*keeper, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return nil, ErrClosed
	}
	if c.keeper == nil || !c.keeper.join() {
		c.keeper = newHeartbeat(c)
		c.keeper.join()
		c.wg.Go(c.keeper.run)
	}
	return c.keeper, nil
}

// observed is what all claims of this process know of the heartbeats of others.
func (c *Client) observed() heartbeat.Observations {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

func (c *Client) note(seen heartbeat.Observations) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = newer(c.seen, seen, c.o.Clock().Add(-10*max(c.o.TTL, time.Minute)))
}

// newer joins what two claims have observed: of each heartbeat the read that was sent later, unless none was since an
// instant.
func newer(mine, others heartbeat.Observations, since protocol.Instant) heartbeat.Observations {
	for _, o := range others {
		if had := mine.Of(o.Key); !had.Known || had.Looked < o.Looked {
			mine = mine.With(o)
		}
	}
	return slices.DeleteFunc(slices.Clone(mine), func(o heartbeat.Observation) bool { return o.Looked < since })
}

// strays returns the listed heartbeats that have not changed for long enough. A list may be stale, which makes the
// silence longer and never shorter.
func (c *Client) strays(docs []store.Doc, now protocol.Instant) []store.Doc {
	c.mu.Lock()
	defer c.mu.Unlock()
	listed := make(map[string]heartbeat.Observation, len(docs))
	var out []store.Doc
	for _, d := range docs {
		ttl := heartbeat.StatedTTL(d.Value)
		o := c.listed[d.Key].Read(d.Version, ttl, now, now)
		listed[d.Key] = o
		if ttl > 0 && ttl <= maxTTL && o.Dead(4*silenceOf(ttl)) { // else it is none of ours
			out = append(out, d)
		}
	}
	c.listed = listed
	return out
}

func (c *Client) track(r *claiming, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on {
		c.claims[r] = struct{}{}
	} else {
		delete(c.claims, r)
		select {
		case c.fewer <- struct{}{}:
		default:
		}
	}
}

// bound makes the context of one who acquires: it ends with the client too, and where the answer must not be waited
// for, soon.
func (c *Client) bound(ctx context.Context, try bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	free := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	if !try {
		return ctx, func() { free(); cancel(nil) }
	}
	d := 2 * c.patience()
	ctx, stop := context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %s", d))
	return ctx, func() { free(); stop(); cancel(nil) }
}

// patience is how long one call may take.
func (c *Client) patience() time.Duration { return max(c.o.TTL/3, time.Second) }

// pause is the time between two looks at the same document; a client that is told of changes looks less often.
func (c *Client) pause() time.Duration {
	if _, ok := c.store.(store.Watcher); ok {
		return min(c.o.TTL/10, 2*time.Second)
	}
	return min(c.o.TTL/20, time.Second)
}

// The errors that a caller can act on. They come wrapped with the name of the lock.
var (
	// ErrHeld is returned by TryAcquire: another process holds the lock, or waits for it.
	ErrHeld = errors.New("held by others")
	// ErrLost is the cause with which a lock's context ends when the process can no longer prove that it holds the
	// lock.
	ErrLost = errors.New("the lock is lost: no sign of life was acknowledged in time")
	// ErrReleased is the cause with which the context of a released lock ends.
	ErrReleased = errors.New("the lock was released")
	// ErrCrowded reports that too many claims wait already.
	ErrCrowded = fmt.Errorf("%d claims wait already: try again later", maxWaiting)
	// ErrClosed reports that the client was closed.
	ErrClosed = errors.New("the client of the locks is closed")
)

// SizeError refuses a semaphore if its name is in use with another size.
type SizeError struct {
	Size int // in use
	Want int // requested
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("it has %d places, and %d were asked for: the size changes only while nobody holds it and nobody waits; use %d, or another name", e.Size, e.Want, e.Size)
}
