//go:build unix && !solaris && !illumos && !aix

package command

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file until it is closed; false if another process has it.
func lockFile(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
