package process

import (
	"os/exec"
	"syscall"
)

// Bind gives a child a signal when the thread that started it ends, and keeps the terminal's ctrl-c from it. Attributes
// that the command has already stay.
func Bind(cmd *exec.Cmd, sig syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig, cmd.SysProcAttr.Setpgid = sig, true
	}
}
