//go:build unix && !solaris && !illumos && !aix

package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// runsHere says whether the store runs on this system.
func runsHere() error { return nil }

// flock locks the open file: exclusively or shared, waiting or not. The lock belongs to this opening of the file and
// ends when it is closed, by us or by the kernel. It reports false if the lock is held by another.
func flock(f *os.File, exclusive, wait bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	err := flockCall(f, how)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func funlock(f *os.File) error { return flockCall(f, unix.LOCK_UN) }

func flockCall(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) {
		for {
			if result = unix.Flock(int(fd), how); !errors.Is(result, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	if result != nil {
		return os.NewSyscallError("flock", result)
	}
	return nil
}
