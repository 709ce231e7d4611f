package faultproxy_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestRefusedPortIsKept wants the port of a proxy that refuses: nobody gets it who does not share, as the system
// doesn't when it chooses a port.
func TestRefusedPortIsKept(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := proxy(t, s.listener.Addr().String())
	p.Refuse()
	if err := bind(t, addrPort(t, p.Addr())); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("bind to the port of a proxy that refuses: %v, want EADDRINUSE", err)
	}
	if c, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connect: %v, %v; want refused", c, err)
	}
	heal(t, p)
	client, far := dial(t, p), s.conn(t)
	send(t, client, "again")
	wantRead(t, far, "again")
}

func addrPort(t *testing.T, addr string) int {
	t.Helper()
	at := must.Get(net.ResolveTCPAddr("tcp4", addr))(t)
	return at.Port
}

// bind tries to have a port for itself.
func bind(t *testing.T, port int) error {
	t.Helper()
	fd := must.Get(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0))(t)
	defer syscall.Close(fd)
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}
