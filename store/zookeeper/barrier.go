package zookeeper

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"
)

// barrier makes the server that the handle is connected to catch up, so that what is read from it afterwards is not
// older than the call. Calls that come while one round is under way share the next one.
type barrier struct {
	link   *link
	path   string
	quorum bool

	mu   sync.Mutex
	busy bool
	next *round // has not begun
}

// round is one request, shared by all callers that came before it began.
type round struct {
	done chan struct{}
	gen  uint64 // of the connection
	err  error
}

// wait returns when a round that began after the call is over, and the connection that it was made on.
func (b *barrier) wait(ctx context.Context) (gen uint64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	r := b.join()
	select {
	case <-r.done:
		return r.gen, r.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (b *barrier) join() *round {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = &round{done: make(chan struct{})}
	}
	r := b.next
	if !b.busy {
		b.busy = true
		go b.run()
	}
	return r
}

// run makes rounds until nobody waits for another one.
func (b *barrier) run() {
	for {
		b.mu.Lock()
		r := b.next
		b.next = nil
		b.busy = r != nil
		b.mu.Unlock()
		if r == nil {
			return
		}
		r.gen, r.err = do(context.Background(), b.link, b.request)
		close(r.done)
	}
}

func (b *barrier) request(c *zk.Conn) (uint64, error) {
	gen := b.link.generation()
	if !b.quorum {
		switch b.link.remedy(gen) {
		case byNothing:
			return gen, nil
		case bySync:
			_, err := c.Sync(b.path)
			return gen, err
		case byTransaction:
		}
	}
	_, err := c.Multi(&zk.CheckVersionRequest{Path: b.path, Version: -1})
	if errors.Is(err, zk.ErrNoNode) { // it is refused in its turn: the reader will see what is missing
		err = nil
	}
	return gen, err
}

// onOne runs what reads, behind what is waited for, on the same connection. Another connection may lead to a server
// that is behind: then both are done again.
func (c *conn) onOne(ctx context.Context, wait func(context.Context) (gen uint64, err error), read func() error) error {
	for {
		gen, err := wait(ctx)
		if err == nil {
			err = read()
		}
		var sent *sentError
		switch {
		case ctx.Err() != nil:
			return err
		case errors.As(err, &sent): // the connection broke: nothing was changed, and nothing is known
		case err == nil, answered(err):
			if c.link.generation() == gen {
				return err
			}
		default:
			return err
		}
	}
}
