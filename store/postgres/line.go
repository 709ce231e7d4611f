package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

const (
	pingEvery    = 15 * time.Second // of a line on which nothing is heard
	lineSilence  = 5 * time.Second  // a line whose server does not answer for so long is replaced
	linePause    = 50 * time.Millisecond
	linePauseMax = 3 * time.Second // doubled up to this, between attempts to connect, unless a call connects meanwhile
	tieAgain     = time.Second     // until a lock that somebody has is tried again
	tiePatience  = time.Second     // how long a new vigil waits to be tied
	tieMost      = 5 * time.Minute // of the ttl: the kernel may give a connection up sooner than a longer one is over
)

// line is the connection on which a handle listens, and which holds the lock that proves that its process lives. Where
// it breaks, it is made again.
//
// While the process lives, a line that holds the lock is closed by the server alone, or by a kernel that has heard of
// the server's end: never here, where it may be that the server still hears us and we do not hear it. A line that is
// silent is left open until another one has said that the lock proves nothing any more.
type line struct {
	w     *wire
	once  sync.Once
	tied  atomic.Bool
	tried chan struct{} // closed when the lock was asked for, for the first time
	try   sync.Once
	again wait.Wake // a call has connected: a server that was away for long is back

	mu      sync.Mutex
	now     *lineConn // nil: there is none
	failure error     // of the last attempt to connect
	changed chan struct{}
	silent  []*lineConn // left open; run alone uses it
}

// lineConn is one connection of a line. Its goroutine alone makes calls on it, and none of them has a deadline: one
// that ended would close it.
type lineConn struct {
	*conn
	ended chan struct{}
	busy  atomic.Pointer[time.Time] // since when it waits for an answer
}

func newLine(w *wire) *line {
	return &line{w: w, changed: make(chan struct{}), tried: make(chan struct{}), again: wait.NewWake()}
}

// start begins to connect, and to look after vigils: who holds a lock also waits for another's.
func (l *line) start() {
	l.once.Do(func() {
		if l.w.life.Begin(l.run) && !l.w.options.ReadOnly {
			l.w.judge.start()
		}
	})
}

// ready waits until the handle listens.
func (l *line) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.w.options.Timeout,
		fmt.Errorf("no answer within %v", l.w.options.Timeout))
	defer cancel()
	l.start()
	for {
		l.mu.Lock()
		now, failure, changed := l.now, l.failure, l.changed
		l.mu.Unlock()
		if now != nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if failure != nil {
				return driver.Because(ctx, unsent(context.Background(), notSent{failure}))
			}
			return fmt.Errorf("%w: %w", store.ErrUnavailable, context.Cause(ctx))
		}
	}
}

// awaitTie waits until the handle has the lock, but not for long: where it cannot have it, heartbeats judge.
func (l *line) awaitTie(ctx context.Context) {
	l.start()
	ctx, cancel := context.WithTimeout(ctx, tiePatience)
	defer cancel()
	select {
	case <-l.tried:
	case <-ctx.Done():
	}
}

// set notes what has become of the line.
func (l *line) set(now *lineConn, failure error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.failure = now, failure
	close(l.changed)
	l.changed = make(chan struct{})
}

// run keeps a line until the handle is closed.
func (l *line) run() {
	for rest := linePause; l.w.life.Ctx.Err() == nil; {
		c, err := l.connect()
		if err != nil {
			l.set(nil, err)
			l.w.log.Debug("connect to listen", "err", err)
			pauseOr(l.w.life.Ctx, rest, l.again)
			rest = min(2*rest, linePauseMax)
			continue
		}
		rest = linePause
		l.closeSilent() // they prove nothing any more
		l.set(c, nil)
		l.w.hub.heard("")
		l.attend(c)
		l.set(nil, errLineLost)
	}
	l.closeSilent()
}

var errLineLost = fmt.Errorf("%w: the connection was lost", store.ErrUnavailable)

// connect makes a line that listens. What the line before proved is taken back before anything else.
func (l *line) connect() (*lineConn, error) {
	ctx, cancel := context.WithTimeout(l.w.life.Ctx, l.w.options.Timeout)
	defer cancel()
	c, err := l.w.dial(ctx, func(_ *pgconn.PgConn, n *pgconn.Notification) { l.w.hub.heard(n.Payload) })
	if err != nil {
		return nil, err
	}
	err = c.run(ctx, "LISTEN "+identifier(l.w.layout.channel))
	if err == nil && l.tied.Load() {
		_, err = c.exec(ctx, sqlUntie, l.w.owner)
	}
	if err != nil {
		closeConn(c)
		return nil, err
	}
	return &lineConn{conn: c, ended: make(chan struct{})}, nil
}

// attend waits until a line has ended, has become silent, or the handle is closed.
func (l *line) attend(c *lineConn) {
	if !l.w.life.Begin(func() { l.serve(c) }) {
		closeConn(c.conn)
		return
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-l.w.life.Ctx.Done():
			_ = c.Conn().Close() // all vigils have ended
			return
		case <-look.C:
			if since := c.busy.Load(); since != nil && time.Since(*since) > lineSilence {
				l.w.log.Warn("the server is silent: listen on another connection", "for", lineSilence)
				l.silent = append(l.silent, c)
				return
			}
		}
	}
}

// closeSilent closes the lines that were left open.
func (l *line) closeSilent() {
	for _, c := range l.silent {
		_ = c.Conn().Close() // it is replaced
	}
	l.silent = nil
}

// serve takes the lock and listens, until the connection has ended or the handle is closed.
func (l *line) serve(c *lineConn) {
	defer close(c.ended)
	defer closeConn(c.conn)
	// That the lock is free says that the process has ended only where nobody is in between: see direct.
	untied := !l.w.options.ReadOnly && c.direct()
	for l.w.life.Ctx.Err() == nil {
		var err error
		began := time.Now()
		c.busy.Store(&began)
		if untied {
			untied, err = l.tie(c)
		} else {
			err = c.Ping(context.Background())
		}
		c.busy.Store(nil)
		l.try.Do(func() { close(l.tried) })
		if err != nil { // the server has refused something; our end would prove what is not so
			l.w.log.Debug("look after a connection", "err", err)
		}
		wait := pingEvery
		if untied {
			wait = tieAgain
		}
		if c.IsClosed() || !c.listen(l.w.life.Ctx, wait) {
			return
		}
	}
}

// listen waits for notifications for a while; false when the connection has ended.
func (c *lineConn) listen(ctx context.Context, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		if err := c.WaitForNotification(ctx); err != nil {
			return ctx.Err() != nil && !c.IsClosed()
		}
	}
}

// tie takes the lock of the handle, and says in the table of ties that who finds it free has found a process that has
// ended. again: a line before this one has it, for as long as the server takes it for alive.
func (l *line) tie(c *lineConn) (again bool, err error) {
	l.tied.Store(true) // perhaps
	rows, err := c.exec(context.Background(), sqlLock, l.w.owner)
	if err != nil || !rows[0].bool(0) {
		return true, err
	}
	_, err = c.exec(context.Background(), sqlTie, l.w.owner, string(newVersion()))
	return err != nil, err
}
