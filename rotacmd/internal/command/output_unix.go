//go:build unix

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// outputGone reports whether the reader of the standard output or of the standard error is gone. A SIGPIPE alone does
// not say so: the process gets one for each write to a connection that was closed, such as one to a server that was
// killed.
func outputGone() bool {
	var fds []unix.PollFd
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		fds = append(fds, unix.PollFd{Fd: int32(f.Fd())}) //nolint:gosec // a small number
	}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && (fds[0].Revents|fds[1].Revents)&unix.POLLERR != 0
}
