//go:build !linux

package chaos

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
