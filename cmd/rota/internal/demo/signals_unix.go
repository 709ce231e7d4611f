//go:build unix

package demo

import "syscall"

// The signals that suspend a process and let it go on.
const (
	canSuspend = true
	sigStop    = syscall.SIGSTOP
	sigCont    = syscall.SIGCONT
)
