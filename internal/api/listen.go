package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
)

// DefaultAddress is where a member listens unless told otherwise; when the port is taken, the next free one up to
// LastPort.
const (
	DefaultAddress = "127.0.0.1:7600"
	LastPort       = 7699
)

// Access is what an address beyond loopback needs.
type Access struct {
	TLS   *tls.Config
	Token string // that requests must carry as "Authorization: Bearer …"
	Users Users  // each with such a token
}

// ErrNotLoopback refuses to show a cluster to the network without protection.
var ErrNotLoopback = errors.New("an address beyond loopback needs TLS and a token")

// Listen opens the address of the API. With address "" it is the first free one from DefaultAddress on. An address that
// is not a loopback address is refused without TLS and a token.
func Listen(address string, a Access) (net.Listener, error) {
	search := address == ""
	if search {
		address = DefaultAddress
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: it is not host:port", address)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %q is not a port", address, portText)
	}
	if !Loopback(host) && (a.TLS == nil || a.Token == "" && len(a.Users) == 0) {
		return nil, fmt.Errorf("listen on %s: %w", address, ErrNotLoopback)
	}
	l, err := listen(host, int(port), search)
	if err != nil {
		return nil, err
	}
	if a.TLS != nil {
		l = tls.NewListener(l, a.TLS)
	}
	return l, nil
}

func listen(host string, port int, search bool) (net.Listener, error) {
	for {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		switch {
		case err == nil:
			return l, nil
		case !search || port >= LastPort || !errors.Is(err, syscall.EADDRINUSE):
			if op, ok := errors.AsType[*net.OpError](err); ok {
				err = op.Err
			}
			return nil, fmt.Errorf("listen on %s: %w", net.JoinHostPort(host, strconv.Itoa(port)), err)
		}
		port++
	}
}

// Loopback reports whether a host is certainly this machine's own loopback. Names are not resolved, but for the one
// that is reserved.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// The bounds of the connections of a server.
const (
	usualConnections = 128
	leastConnections = 4
	// fileShare is the part of the process's file descriptors that connections may take: the store, programs and checks
	// need the others.
	fileShare = 4
)

// connections is how many a server holds, if that many are wanted and the process may open that many files; 0 stands
// for unknown.
func connections(wanted int, files uint64) int {
	if wanted <= 0 {
		wanted = usualConnections
	}
	if files == 0 || uint64(wanted) <= files/fileShare {
		return wanted
	}
	return max(int(files/fileShare), min(wanted, leastConnections)) //nolint:gosec // less than wanted
}

// limited is a listener that accepts a connection when the server has room for it. A server tells by its hook when a
// connection ends.
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

// Accept implements net.Listener. While there is no room, connections that wait for a further request are closed, and
// those in use close after their answer.
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
