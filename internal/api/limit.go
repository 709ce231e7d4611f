package api

import (
	"net"
	"net/http"
	"sync"
)

// The bounds of the connections of a server.
const (
	usualConnections = 128
	leastConnections = 4
	// fileShare is the part of the process's file descriptors that connections may take: the store, programs and checks need the others.
	fileShare = 4
)

// connections is how many a server holds, if that many are wanted and the process may open that many files; 0 stands for unknown.
func connections(wanted int, files uint64) int {
	if wanted <= 0 {
		wanted = usualConnections
	}
	if files == 0 || uint64(wanted) <= files/fileShare {
		return wanted
	}
	return max(int(files/fileShare), min(wanted, leastConnections)) //nolint:gosec // less than wanted
}

// limited is a listener that accepts a connection when the server has room for it. A server tells by its hook when a connection ends.
type limited struct {
	net.Listener
	room   chan struct{}
	server *http.Server
	once   sync.Once
	closed chan struct{}
}

// limit makes a server hold at most n connections of l. It takes the server's ConnState hook.
func limit(l net.Listener, s *http.Server, n int) net.Listener {
	limited := &limited{Listener: l, room: make(chan struct{}, n), server: s, closed: make(chan struct{})}
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			<-limited.room
		}
	}
	return limited
}

// Accept implements net.Listener. While there is no room, connections that wait for a further request are closed, and those in use close
// after their answer.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	default:
		l.server.SetKeepAlivesEnabled(false)
		select {
		case l.room <- struct{}{}:
			l.server.SetKeepAlivesEnabled(true)
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
	}
	return c, err
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
