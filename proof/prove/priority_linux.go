package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// grace is how long a command has from an interrupt to its end.
const grace = 10 * time.Second

// lowest is the lowest priority.
const lowest = 19

// retreat gives a command a session of its own. Between sessions the kernel shares the processors by their autogroups,
// and nice counts only within one. A terminal's ctrl-c does not reach the session: the end of the context interrupts
// all of it.
func retreat(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		group := -cmd.Process.Pid
		time.AfterFunc(grace, func() { _ = syscall.Kill(group, syscall.SIGKILL) }) // what does not hear an interrupt
		return syscall.Kill(group, syscall.SIGINT)
	}
}

// yield gives a command that has just started the lowest priority, among the sessions and, for kernels without
// autogroups, among the processes.
func yield(cmd *exec.Cmd) error {
	pid := cmd.Process.Pid
	path := fmt.Sprintf("/proc/%d/autogroup", pid)
	for errors.Is(os.WriteFile(path, fmt.Append(nil, lowest), 0), syscall.EAGAIN) {
		<-time.After(50 * time.Millisecond) // waits: the kernel takes ten of these a second
	}
	if err := syscall.Setpriority(syscall.PRIO_PGRP, pid, lowest); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("lower the priority of %s: %w", cmd.Path, err)
	}
	return nil
}
