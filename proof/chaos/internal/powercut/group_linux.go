package powercut

import (
	"os"
	"syscall"
)

// attributes make a group of a writer and what runs it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup is kill -9 of that group, which may have ended.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
