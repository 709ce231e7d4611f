package kafka

import (
	"os/exec"
	"syscall"
)

// bind makes the child die with its parent, however that ends.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
