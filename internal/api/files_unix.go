//go:build unix

package api

import "syscall"

// maxFiles is how many files this process may open; 0 if that is not known.
func maxFiles() uint64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return uint64(r.Cur) //nolint:unconvert // it is signed on some systems
}
