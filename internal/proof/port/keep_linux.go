package port

import (
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Keep keeps a port that nobody listens at now, given as "127.0.0.1:port", until release is called, which is done once.
// The error is that of the system.
func Keep(addr string) (release func(), err error) {
	at, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("keep port: %w", err)
	}
	s := socket{}
	if err := s.bind(at.Port, [4]byte(at.IP.To4())); err != nil {
		return nil, fmt.Errorf("keep port %s: %w", addr, err)
	}
	return s.close, nil
}

// Find finds n ports that nobody has, as "127.0.0.1:port", and keeps them until release is called, which is done once.
// So a server that is told to listen there finds them free, however late it does, and after each of its deaths. The
// error is that of the system.
func Find(n int) (addrs []string, release func(), err error) {
	all := make([]socket, n)
	release = func() {
		for i := range all {
			all[i].close()
		}
	}
	for i := range all {
		err := all[i].bind(0, [4]byte{127, 0, 0, 1})
		var addr string
		if err == nil {
			addr, err = all[i].addr()
		}
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("find a port: %w", err)
		}
		addrs = append(addrs, addr)
	}
	return addrs, release, nil
}

// socket has a port and does not listen. The zero value is closed.
type socket struct {
	fd   int
	open bool
}

// bind takes a port; 0: one that the system chooses. A socket that could not take it is closed.
func (s *socket) bind(port int, ip [4]byte) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.fd, s.open = fd, true
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: ip})
	}
	if err != nil {
		s.close()
	}
	return err
}

// addr is where the socket stands.
func (s *socket) addr() (string, error) {
	at, err := syscall.Getsockname(s.fd)
	if err != nil {
		return "", err
	}
	in4, ok := at.(*syscall.SockaddrInet4)
	if !ok {
		return "", fmt.Errorf("the system calls its address %v", at)
	}
	return net.JoinHostPort(net.IP(in4.Addr[:]).String(), strconv.Itoa(in4.Port)), nil
}

func (s *socket) close() {
	if s.open {
		_ = syscall.Close(s.fd) // nothing was written
	}
	s.open = false
}
