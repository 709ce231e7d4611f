package port_test

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
)

func listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	must.Succeed(t, err)
	return l
}

// alone tries to have a port for itself.
func alone(t *testing.T, at *net.TCPAddr) error {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must.Succeed(t, err)
	defer syscall.Close(fd)
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())})
}

func TestKeep(t *testing.T) {
	t.Parallel()
	l := listen(t, "127.0.0.1:0")
	at := l.Addr().(*net.TCPAddr)
	l.Close()
	release, err := port.Keep(at.String())
	must.Succeed(t, err)
	wantKept(t, at)
	if _, err := port.Keep("127.0.0.1:none"); err == nil {
		t.Error("what is no port was kept")
	}
	release()
}

// wantKept wants that nobody gets a port who does not ask for this very one.
func wantKept(t *testing.T, at *net.TCPAddr) {
	t.Helper()
	for range 2 {
		if err := alone(t, at); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("bind without sharing: %v, want EADDRINUSE: so the system gives it to nobody", err)
		}
		if c, err := net.Dial("tcp", at.String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connect: %v, %v, want to be refused", c, err)
		}
		l := listen(t, at.String()) // as the server does when it comes back
		c, err := net.Dial("tcp", at.String())
		must.Succeed(t, err)
		c.Close()
		l.Close()
	}
}

// TestFind wants ports that differ, and that are anybody's again after release.
func TestFind(t *testing.T) {
	t.Parallel()
	addrs, release, err := port.Find(3)
	must.Succeed(t, err)
	var at []*net.TCPAddr
	for _, addr := range addrs {
		a, err := net.ResolveTCPAddr("tcp4", addr)
		if err != nil || !a.IP.IsLoopback() || slices.ContainsFunc(at,
			func(b *net.TCPAddr) bool { return a.Port == b.Port }) {
			t.Fatalf("found %q: %v", addrs, err)
		}
		at = append(at, a)
		wantKept(t, a)
	}
	release()
	if !slices.ContainsFunc(at, func(a *net.TCPAddr) bool { return alone(t, a) == nil }) { // one of them may be somebody else's by now
		t.Errorf("%q were given up, and are still kept", addrs)
	}
}

// TestFoundPortsAreNobodyElses has the system choose many ports beside those that were found: it chooses none of them,
// to listen or to connect from.
func TestFoundPortsAreNobodyElses(t *testing.T) {
	t.Parallel()
	addrs, release, err := port.Find(50)
	must.Succeed(t, err)
	defer release()
	found := map[string]bool{}
	for _, addr := range addrs {
		found[addr] = true
	}
	target := listen(t, "127.0.0.1:0")
	defer target.Close()
	for range 1000 {
		l := listen(t, "127.0.0.1:0")
		c, err := net.Dial("tcp", target.Addr().String())
		must.Succeed(t, err)
		for _, addr := range []net.Addr{l.Addr(), c.LocalAddr()} {
			if found[addr.String()] {
				t.Errorf("the system gave %s away, which is kept", addr)
			}
		}
		c.Close()
		l.Close()
	}
}
