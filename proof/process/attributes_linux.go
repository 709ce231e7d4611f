package process

import "syscall"

// attributes make a child die with the thread that started it, and keep the terminal's ctrl-c from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
