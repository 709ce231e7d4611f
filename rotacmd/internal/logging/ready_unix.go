//go:build unix

package logging

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// writable waits until a write to f does not block. Files of a disk are always writable.
func writable(f *os.File, atMost time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}} //nolint:gosec // a small number
	n, err := unix.Poll(fds, int(atMost.Milliseconds()))
	return err != nil || n > 0
}
