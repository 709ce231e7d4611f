//go:build unix && !linux

package demo

import "syscall"

// attributes keep the terminal's ctrl-c from the child, which is stopped in order.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
