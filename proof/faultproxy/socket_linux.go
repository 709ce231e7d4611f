package faultproxy

import "syscall"

// abrupt has a socket that is to connect end with a reset, also where the attempt to connect is given up when the other
// side has accepted already.
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
