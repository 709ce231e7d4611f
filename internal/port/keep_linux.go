package port

import (
	"fmt"
	"net"
	"syscall"
)

// Keep keeps a port that nobody listens at now, given as "127.0.0.1:port", until release is called, which is done once. The error is that of the system.
func Keep(addr string) (release func(), err error) {
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
