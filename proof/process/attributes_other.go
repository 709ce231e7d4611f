//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// Bind does nothing here: the children of a killed process go on.
func Bind(*exec.Cmd, syscall.Signal) {}
