//go:build unix

package file

import "golang.org/x/sys/unix"

// The tests of this package run under a umask that hides nothing.
func init() { unix.Umask(0) }
