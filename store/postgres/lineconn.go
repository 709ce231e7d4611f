package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// lineConn is one connection of a line. Its goroutine alone makes calls on it, and none of them has a deadline: one that ended would close it.
type lineConn struct {
	*conn
	line    *line
	ended   chan struct{}
	busy    atomic.Pointer[time.Time] // since when it waits for an answer
	release []int64                   // locks to let go of; guarded by line.mu

	mu     sync.Mutex
	kicked bool
	wake   context.CancelFunc // ends the wait for a notification
}

// silence is for how long the server owes an answer.
func (c *lineConn) silence() time.Duration {
	if since := c.busy.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

func (c *lineConn) kick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kicked = true
	if c.wake != nil {
		c.wake()
	}
}

// serve listens, and does what is asked of it, until the connection has ended or the handle is closed.
func (c *lineConn) serve() {
	defer close(c.ended)
	defer closeConn(c.conn)
	c.kick()
	for {
		kicked, err := c.listen()
		if err != nil || c.line.s.ctx.Err() != nil {
			return
		}
		began := time.Now()
		c.busy.Store(&began)
		if kicked {
			err = c.look()
		} else {
			err = c.Ping(context.Background())
		}
		c.busy.Store(nil)
		if err != nil {
			c.line.s.log.Debug("look after sessions", "store", c.line.s.place, "err", err)
		}
		if c.IsClosed() {
			return
		}
		if err != nil { // the server has refused something, and its end would prove what is not so: go on
			time.AfterFunc(tieAgain, c.kick)
		}
	}
}

// listen waits for notifications until somebody asks for something, or nothing was heard for a while.
func (c *lineConn) listen() (kicked bool, err error) {
	ctx, cancel := context.WithTimeout(c.line.s.ctx, pingEvery)
	defer cancel()
	c.mu.Lock()
	kicked, c.kicked = c.kicked, false
	if !kicked {
		c.wake = cancel
	}
	c.mu.Unlock()
	if kicked {
		return true, nil
	}
	for err == nil {
		err = c.WaitForNotification(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake, kicked, c.kicked = nil, c.kicked, false
	if ctx.Err() != nil && !c.IsClosed() {
		err = nil // it was woken up
	}
	return kicked, err
}

// look lets go of locks, and ties sessions.
func (c *lineConn) look() error {
	c.line.mu.Lock()
	release := c.release
	c.release = nil
	c.line.mu.Unlock()
	for _, id := range release {
		if _, err := c.exec(context.Background(), sqlUnlock, id); err != nil {
			return err
		}
	}
	for _, n := range c.line.s.openSessions() {
		if err := c.tie(n); err != nil {
			return err
		}
	}
	return nil
}

// tie takes the lock of a session, and says in the table of ties that who finds it free has found a process that has ended. That is so only where nobody is
// in between: see direct.
func (c *lineConn) tie(n *session) error {
	c.line.mu.Lock()
	done := n.on == c
	c.line.mu.Unlock()
	defer n.settle.Do(func() { close(n.settled) })
	if done || n.ttl > tieMost || !c.direct() {
		return nil
	}
	rows, err := c.exec(context.Background(), sqlLock, n.id)
	if err != nil {
		return err
	}
	if !rows[0].bool(0) { // a line before this one has it, for as long as the server takes it for alive
		time.AfterFunc(tieAgain, c.kick)
		return nil
	}
	c.line.mu.Lock()
	n.on = c
	c.line.mu.Unlock()
	if rows, err = c.exec(context.Background(), sqlTie, n.id, string(newVersion())); err != nil {
		return err
	}
	if len(rows) == 0 {
		n.end() // others have ended it
	}
	return nil
}
