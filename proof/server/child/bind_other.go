//go:build !linux

package child

import (
	"os/exec"
	"syscall"
)

// bind does nothing here: the servers of a killed test go on.
func bind(*exec.Cmd) {}

// Bind does nothing here.
func Bind(*exec.Cmd, syscall.Signal) {}
