package port_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/port"
)

func listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// alone tries to have a port for itself.
func alone(t *testing.T, at *net.TCPAddr) error {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())})
}

func TestKeep(t *testing.T) {
	t.Parallel()
	l := listen(t, "127.0.0.1:0")
	at := l.Addr().(*net.TCPAddr)
	l.Close()
	release, err := port.Keep(at.String())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := alone(t, at); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("bind without sharing: %v, want EADDRINUSE: so the system gives it to nobody", err)
		}
		if c, err := net.Dial("tcp", at.String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connect: %v, %v, want to be refused", c, err)
		}
		l = listen(t, at.String()) // as the server does when it comes back
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
	}
	if _, err := port.Keep("127.0.0.1:none"); err == nil {
		t.Error("what is no port was kept")
	}
	release()
}
