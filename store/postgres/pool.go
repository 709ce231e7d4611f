package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// stale is how long a connection may be unused before it is looked at: one whose end has been heard of is better
// replaced than used.
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
	p.w.line.again.Set()
	p.w.judge.again.Set()
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

// errPooler refuses what shares the server's processes among clients.
var errPooler = errors.New("a pooler (pgbouncer) in transaction or statement mode is in between: LISTEN and session locks do not work through it: " +
	"connect to the server itself, or to a pool with pool_mode=session")

// poolerTries is how often two connections look whether they share a process of the server.
const poolerTries = 3

// checkPooler refuses a pooler that gives a process of the server to a client for one transaction only. Where a pooler
// is, the process that the client was told of is not the one that works for it. Whether it is kept is seen by a second
// connection: where it begins a transaction in the very process that has just worked for the first one, that one has
// not kept it.
func (w *wire) checkPooler(ctx context.Context, c *conn) error {
	if uint32(c.server.pid) == c.PID() { //nolint:gosec // a process number
		return nil
	}
	other, err := w.dial(ctx, nil)
	if err != nil {
		return w.poolerError(ctx, err)
	}
	defer closeConn(other)
	for range poolerTries {
		shared, err := sharesProcess(ctx, c, other)
		if err != nil {
			return w.poolerError(ctx, err)
		}
		if shared {
			return errPooler
		}
	}
	return nil
}

func sharesProcess(ctx context.Context, c, other *conn) (bool, error) {
	first, err := c.backend(ctx)
	if err != nil {
		return false, err
	}
	if err := other.run(ctx, "BEGIN"); err != nil {
		return false, err
	}
	second, err := other.backend(ctx)
	if err != nil {
		return false, err
	}
	third, err := c.backend(ctx)
	if err != nil {
		return false, err
	}
	return first == second || first != third, other.run(ctx, "ROLLBACK")
}

// backend asks which process of the server works for a connection now.
func (c *conn) backend(ctx context.Context) (int64, error) {
	r := c.ExecParams(ctx, "SELECT pg_backend_pid()", nil, nil, nil, []int16{1}).Read()
	if r.Err != nil || len(r.Rows) != 1 {
		return 0, fmt.Errorf("ask for the server's process: %w", r.Err)
	}
	return row(r.Rows[0]).int(0), nil
}

// poolerError reads what a pooler says itself.
func (w *wire) poolerError(ctx context.Context, err error) error {
	if text := err.Error(); strings.Contains(text, "statement pooling") ||
		strings.Contains(text, "prepared statement") {
		return fmt.Errorf("%w: %w", errPooler, err)
	}
	return unsent(ctx, err)
}
