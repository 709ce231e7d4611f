package etcd

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// lines are the connections of a handle, by the address of this side. A call that waits too long closes its own if nothing at all came over it: a
// member that is frozen keeps its connections, and gRPC notices that after 13 s at best.
type lines struct {
	log *slog.Logger

	mu  sync.Mutex
	all map[string]*line
}

// line is one connection, which remembers when it was last heard of.
type line struct {
	net.Conn
	of   *lines
	born time.Time
	last atomic.Int64 // nanoseconds after born
}

// dial makes a connection.
func (ls *lines) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &line{Conn: c, of: ls, born: time.Now()}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.all[c.LocalAddr().String()] = l
	return l, nil
}

// Read implements net.Conn.
func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if n > 0 {
		l.last.Store(int64(time.Since(l.born)))
	}
	return n, err
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.of.mu.Lock()
	if key := l.LocalAddr().String(); l.of.all[key] == l {
		delete(l.of.all, key)
	}
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// giveUp closes the connection of a call if nothing was received on it since the call was sent. Other calls on it would wait without success too.
func (ls *lines) giveUp(local string, since time.Time) {
	ls.mu.Lock()
	l := ls.all[local]
	ls.mu.Unlock()
	if l == nil || l.born.Add(time.Duration(l.last.Load())).After(since) {
		return
	}
	ls.log.Warn("an etcd server is silent: its connection is closed", "server", l.RemoteAddr().String(), "for", silence)
	_ = l.Close() // gRPC hears of it, and connects again
}
