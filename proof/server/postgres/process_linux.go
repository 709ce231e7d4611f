package postgres

import (
	"os/exec"
	"syscall"
)

// bind makes the server end with its parent, however that ends: at once, as in a crash.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT }
