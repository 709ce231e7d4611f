package postgres

import (
	"context"
	"time"
)

// stale is how long a connection may be unused before it is looked at: one whose end has been heard of is better replaced than used.
const stale = time.Second

// pool is the connections that make calls, first come, first served.
type pool struct {
	w     *wire
	slots chan *conn // as many as there may be connections; nil: not connected
}

func newPool(w *wire, n int) *pool {
	p := &pool{w: w, slots: make(chan *conn, n)}
	for range n {
		p.slots <- nil
	}
	return p
}

// get returns a connection, which the caller gives back with put. Any error says that nothing was sent.
func (p *pool) get(ctx context.Context) (*conn, error) {
	var c *conn
	select {
	case c = <-p.slots:
	case <-ctx.Done():
		return nil, notSent{context.Cause(ctx)}
	}
	if c != nil && time.Since(c.used) > stale && c.CheckConn() != nil { //nolint:staticcheck // Ping costs a round trip; what this misses ends as an unknown outcome
		closeConn(c)
		c = nil
	}
	if c != nil && !c.IsClosed() {
		return c, nil
	}
	c, err := p.w.dial(ctx, nil)
	if err != nil {
		p.slots <- nil
		return nil, notSent{err}
	}
	return c, nil
}

func (p *pool) put(c *conn) {
	if c.IsClosed() {
		c = nil
	}
	p.slots <- c
}

// close closes all connections. No call is under way.
func (p *pool) close() {
	for range cap(p.slots) {
		if c := <-p.slots; c != nil {
			closeConn(c)
		}
	}
}
