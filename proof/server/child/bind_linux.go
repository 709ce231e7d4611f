package child

import (
	"os/exec"
	"syscall"
)

// bind makes the child die with its parent, however that ends. Attributes that the command has already stay.
func bind(cmd *exec.Cmd) { Bind(cmd, syscall.SIGKILL) }

// Bind lets the child have a signal when its parent ends, however that ends.
func Bind(cmd *exec.Cmd, sig syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = sig
	}
}
