package call

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// ClientOptions are those of a client. The zero value works.
type ClientOptions struct {
	// Queue names the caller, by the rules for member names: members share their slots fairly among queues. Several
	// clients may use the same queue. Default: a random name.
	Queue  string
	Logger *slog.Logger // default: discard
	// Clock measures the age of pages; default [protocol.Now]. A test in a bubble of testing/synctest sets
	// [protocol.NewProcessClock].
	Clock func() protocol.Instant
}

// Client submits calls and waits for them. Its methods may be called from any goroutine. It runs goroutines only while
// a caller waits for a call, and while it removes collected calls.
type Client struct {
	docs  store.Docs
	queue string
	start string // of this client alone: part of its pages' names
	log   *slog.Logger
	clock func() protocol.Instant

	ctx  context.Context // of what goes on in the background
	stop context.CancelCauseFunc

	mu      sync.Mutex // guards what follows
	closed  bool
	wg      sync.WaitGroup
	page    *page                      // the newest
	pages   int                        // opened so far
	waiting map[place]map[*Handle]bool // by page, whose number is 0
	added   wait.Wake                  // somebody waits for a further call
	follows bool
}

// NewClient makes a client for any process, member or not. The caller owns the store: close it after the client.
func NewClient(docs store.Docs, o ClientOptions) (*Client, error) {
	start := newNonce()
	if o.Queue == "" {
		o.Queue = "caller-" + start
	}
	if err := cluster.CheckName(o.Queue); err != nil {
		return nil, fmt.Errorf("make a client of calls: queue: %w", err)
	}
	if o.Clock == nil {
		o.Clock = protocol.Now
	}
	c := &Client{docs: docs, queue: o.Queue, start: start, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		clock:   o.Clock,
		waiting: make(map[place]map[*Handle]bool), added: wait.NewWake()}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	return c, nil
}

func newNonce() string {
	b := make([]byte, 6)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// Calls makes a Client a Target.
func (c *Client) Calls() *Client { return c }

// lastWords bounds how long Close waits for what goes on in the background.
const lastWords = 5 * time.Second

// Close waits for pending removals of collected calls, a few seconds at most, and frees the client. Calls continue in
// the cluster; waiters get ErrClosed.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	waiting, page := c.waiting, c.page
	c.waiting, c.page = nil, nil
	c.mu.Unlock()
	c.added.Set()
	for _, hs := range waiting {
		for h := range hs {
			h.settle(nil, ErrClosed)
		}
	}
	t := time.AfterFunc(lastWords, func() { c.stop(ErrClosed) })
	if page != nil {
		page.close(c.ctx)
	}
	c.wg.Wait()
	t.Stop()
	c.stop(ErrClosed)
}

// background runs f unless the client is closed.
func (c *Client) background(f func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.wg.Go(func() { f(c.ctx) })
	}
}

// Submit is [Func.Submit] for a function that this program does not define; arg is its argument as JSON.
func (c *Client) Submit(ctx context.Context, function string, arg []byte, o Options) (*Handle, error) {
	h, err := c.submit(ctx, function, arg, o)
	if err != nil {
		return nil, fmt.Errorf("submit call of %s: %w", function, err)
	}
	return h, nil
}

func (c *Client) submit(ctx context.Context, function string, arg []byte, o Options) (*Handle, error) {
	handler, err := o.handler()
	if err := errors.Join(err, checkFunctionName(function), o.check()); err != nil {
		return nil, err
	}
	if len(arg) > MostArg {
		return nil, fmt.Errorf("the argument has %d bytes, at most %d are allowed: keep it elsewhere and pass where",
			len(arg), MostArg)
	}
	body, err := Record{Function: function, Arg: arg, Limits: o.limits(), On: cluster.MemberID(o.On),
		OnFailure: handler, State: Queued, BackoffMS: millis(o.Delay)}.encode()
	if err != nil {
		return nil, fmt.Errorf("the argument is not JSON: %w", err)
	}
	if o.Key != "" {
		return c.submitKeyed(ctx, o.Key, function, body)
	}
	for {
		p, at, err := c.allot(ctx, len(body))
		if err != nil {
			return nil, err
		}
		again, err := p.put(ctx, at, body)
		if err != nil {
			p.giveUp(ctx, err)
			return nil, err
		}
		if !again {
			return &Handle{c: c, at: at, page: p, function: function, made: time.Now(), over: make(chan struct{})}, nil
		}
	}
}

// allot finds room on the newest page, or opens one.
func (c *Client) allot(ctx context.Context, size int) (*page, place, error) {
	for {
		p, at, former, err := c.room(size)
		if err != nil {
			return nil, place{}, err
		}
		if former != nil {
			former.close(ctx)
		}
		if at.number == 0 {
			p.open(ctx)
		}
		select {
		case <-p.opened:
		case <-ctx.Done():
			p.left(ctx)
			return nil, place{}, context.Cause(ctx)
		}
		if p.err == nil {
			return p, at, nil
		}
		c.drop(p)
		if at.number == 0 {
			return nil, place{}, p.err
		}
		if ctx.Err() != nil { // it may have been the ctx of who opened it that ended, and not this one
			return nil, place{}, context.Cause(ctx)
		}
	}
}

// room takes a number. Number 0 is that of a new page: its holder opens the page, and closes the former one.
func (c *Client) room(size int) (p *page, at place, former *page, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, place{}, nil, ErrClosed
	}
	if c.page == nil || c.page.full(size) {
		c.pages++
		name := place{queue: c.queue, page: fmt.Sprintf("%s-%06d", c.start, c.pages)}
		former, c.page = c.page, newPage(c.docs, name, c.clock)
	}
	return c.page, c.page.take(size), former, nil
}

// drop gives a page up that could not be opened.
func (c *Client) drop(p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == p {
		c.page = nil
	}
}

// Attach returns the handle of a call that was submitted before, maybe by another process.
func (c *Client) Attach(id string) (*Handle, error) {
	at, err := parseID(id)
	if err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	return &Handle{c: c, at: at, over: make(chan struct{})}, nil
}

// keyedNumber is the number of the only call of a page that is named by a key.
const keyedNumber = 1

// keyed is the place of a call that has a key: the same for all clients of a queue.
func (c *Client) keyed(key string) place {
	sum := sha256.Sum256([]byte(key))
	return place{queue: c.queue, page: hex.EncodeToString(sum[:12]) + "-key", number: keyedNumber}
}

// submitKeyed writes a call where its key says, unless it is there already.
func (c *Client) submitKeyed(ctx context.Context, key, function string, body []byte) (*Handle, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	h := &Handle{c: c, at: c.keyed(key), function: function, over: make(chan struct{})}
	d, err := c.docs.Get(ctx, h.at.key())
	if errors.Is(err, store.ErrNotFound) {
		if err := c.touch(ctx, h.at); err != nil {
			return nil, fmt.Errorf("open a page: %w", err)
		}
		if _, err = c.docs.Put(ctx, store.Doc{Key: h.at.key(), Value: body}); err == nil {
			h.made = time.Now()
			return h, nil
		}
		if errors.Is(err, store.ErrConflict) { // another caller was faster, perhaps with another function
			if d, err = c.docs.Get(ctx, h.at.key()); errors.Is(err, store.ErrNotFound) {
				return h, nil // it has ended, and was collected
			}
		}
	}
	if err != nil {
		return nil, err
	}
	r, err := decode(d.Value)
	if err == nil && r.Function != function {
		err = fmt.Errorf("the key %q is that of a call of %s", key, r.Function)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// touch creates a page, or changes its version, so that a client that was about to remove the empty page starts over.
func (c *Client) touch(ctx context.Context, at place) error {
	for {
		d, err := c.docs.Get(ctx, at.head())
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		_, err = c.docs.Put(ctx, store.Doc{Key: at.head(), Value: fmt.Appendf(nil, `{"touched":%q}`, newNonce()),
			Version: d.Version})
		if err == nil || !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}
