package demo

import "syscall"

// attributes make a child die with the demonstration, and keep the terminal's ctrl-c from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
