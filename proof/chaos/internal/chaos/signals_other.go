//go:build !unix

package chaos

import "syscall"

// Here processes cannot be suspended by a signal; Run says so before it starts any.
const (
	canSuspend = false
	sigStop    = syscall.Signal(0)
	sigCont    = syscall.Signal(0)
)
