//go:build unix

package chaos

import "syscall"

// The signals that suspend a process and let it go on.
const (
	canSuspend = true
	sigStop    = syscall.SIGSTOP
	sigCont    = syscall.SIGCONT
)
