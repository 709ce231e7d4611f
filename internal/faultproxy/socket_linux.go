package faultproxy

import (
	"fmt"
	"net"
	"syscall"
)

// abrupt has a socket that is to connect end with a reset, also where the attempt to connect is given up when the other side has accepted already.
func abrupt(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	})
	if err != nil {
		return err
	}
	return failed
}

// keep has a socket that does not listen stand at a port until release is called, so that the system gives the port to nobody who wants any. To listen
// there is allowed meanwhile: both sockets say that they share their address.
func keep(addr string) (release func(), err error) {
	at, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("keep port: %w", err)
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("keep port: %w", err)
	}
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())})
	}
	if err != nil {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("keep port %s: %w", addr, err)
	}
	return func() { _ = syscall.Close(fd) }, nil
}
