package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

const (
	pingEvery    = 15 * time.Second // of a line on which nothing is heard
	lineSilence  = 5 * time.Second  // a line whose server does not answer for so long is replaced
	linePause    = 50 * time.Millisecond
	linePauseMax = 3 * time.Second // doubled up to this, between attempts to connect
	tieAgain     = time.Second     // until a lock that somebody has is tried again
	tiePatience  = time.Second     // how long a new session waits to be tied
	tieMost      = 5 * time.Minute // of the ttl: the kernel may give a connection up sooner than a longer one is over
)

// line is the connection on which a handle listens, and which holds the locks that prove that its process lives. Where it breaks, it is made again.
//
// While the process lives, a line that holds locks is closed by the server alone, or by a kernel that has heard of the server's end: never here, where it may
// be that the server still hears us and we do not hear it. A line that is silent is left open until another one has said that the locks prove
// nothing any more.
type line struct {
	s    *Store
	once sync.Once

	mu      sync.Mutex
	now     *lineConn // nil: there is none
	failure error     // of the last attempt to connect
	changed chan struct{}
	silent  []*lineConn // left open
}

func newLine(s *Store) *line { return &line{s: s, changed: make(chan struct{})} }

// start begins to connect.
func (l *line) start() {
	l.once.Do(func() {
		if l.s.begin() {
			go l.run()
		}
	})
}

// ready waits until the handle listens.
func (l *line) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.s.options.Timeout, fmt.Errorf("no answer within %v", l.s.options.Timeout))
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
	defer l.s.inside.Done()
	for wait := linePause; l.s.ctx.Err() == nil; {
		c, err := l.connect()
		if err != nil {
			l.set(nil, err)
			l.s.log.Debug("connect to listen", "store", l.s.place, "err", err)
			if !pause(l.s.ctx, wait) {
				break
			}
			wait = min(2*wait, linePauseMax)
			continue
		}
		wait = linePause
		l.closeSilent() // its sessions prove nothing there any more
		l.set(c, nil)
		l.s.hub.everybody()
		l.attend(c)
		l.set(nil, errLineLost)
	}
	l.closeSilent()
}

var errLineLost = fmt.Errorf("%w: the connection was lost", store.ErrUnavailable)

// connect makes a line that listens. What the line before proved is taken back before anything else.
func (l *line) connect() (*lineConn, error) {
	ctx, cancel := context.WithTimeout(l.s.ctx, l.s.options.Timeout)
	defer cancel()
	c, err := l.s.dial(ctx, func(_ *pgconn.PgConn, n *pgconn.Notification) { l.s.hub.heard(n.Payload) })
	if err != nil {
		return nil, err
	}
	err = c.run(ctx, "LISTEN "+identifier(l.s.layout.channel))
	if ids := l.s.sessionIDs(); err == nil && len(ids) > 0 {
		_, err = c.exec(ctx, sqlUntie, ids)
	}
	if err != nil {
		closeConn(c)
		return nil, err
	}
	return &lineConn{conn: c, line: l, ended: make(chan struct{})}, nil
}

// attend waits until a line has ended, has become silent, or the handle is closed.
func (l *line) attend(c *lineConn) {
	l.s.inside.Go(c.serve)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-l.s.ctx.Done():
			_ = c.Conn().Close() // all sessions have ended
			<-c.ended
			return
		case <-look.C:
			if c.silence() > lineSilence {
				l.s.log.Warn("the server is silent: listen on another connection", "store", l.s.place, "for", lineSilence)
				l.silent = append(l.silent, c)
				return
			}
		}
	}
}

// closeSilent closes the lines that were left open. Only run uses them.
func (l *line) closeSilent() {
	for _, c := range l.silent {
		_ = c.Conn().Close() // it is replaced
	}
	l.silent = nil
}

// tie asks for a session to be tied to the line, and waits for that, but not for long: where it cannot be tied, heartbeats judge.
func (l *line) tie(ctx context.Context, n *session) {
	l.start()
	l.kick()
	timer := time.NewTimer(tiePatience)
	defer timer.Stop()
	select {
	case <-n.settled:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// release lets go of the lock of a session that has ended.
func (l *line) release(n *session) {
	l.mu.Lock()
	if n.on != nil {
		n.on.release = append(n.on.release, n.id)
	}
	l.mu.Unlock()
	l.kick()
}

// kick has the line look at its sessions.
func (l *line) kick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil {
		l.now.kick()
	}
}
