package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// DefaultAddress is where a member listens unless told otherwise; when the port is taken, the next free one up to LastPort.
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

// Listen opens the address of the API. With address "" it is the first free one from DefaultAddress on. An address that is not a
// loopback address is refused without TLS and a token.
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
