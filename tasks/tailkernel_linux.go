package tasks

import (
	"os"

	"golang.org/x/sys/unix"
)

// ofTheKernel reports whether a file is one of /proc or /sys, wherever they are mounted: reading those may show
// secrets, or do something.
func ofTheKernel(f *os.File) bool {
	var s unix.Statfs_t
	err := unix.Fstatfs(int(f.Fd()), &s)
	return err != nil || int64(s.Type) == unix.PROC_SUPER_MAGIC || int64(s.Type) == unix.SYSFS_MAGIC //nolint:unconvert // Type is an int32 on some machines
}
