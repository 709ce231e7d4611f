//go:build !unix

package demo

import "syscall"

// Here processes cannot be suspended by a signal; Run says so before it starts any.
const (
	canSuspend = false
	sigStop    = syscall.Signal(0)
	sigCont    = syscall.Signal(0)
)

func attributes() *syscall.SysProcAttr { return nil }

func nobodyWrites(string) bool { return true }
