package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pause is the time between two looks.
const pause = time.Millisecond

// Stop suspends a process with SIGSTOP and returns when none of its threads runs any more. The error says that it has ended, or wraps the cause of ctx.
func Stop(ctx context.Context, pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspend process %d: %w", pid, err)
	}
	for !still(pid) {
		if err := wait(ctx); err != nil {
			return fmt.Errorf("wait until process %d has stopped: %w", pid, err)
		}
	}
	return nil
}

// Continue lets a suspended process run again.
func Continue(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		return fmt.Errorf("continue process %d: %w", pid, err)
	}
	return nil
}

// StopOutside is Stop at a moment at which nobody holds a lock (flock) on one of these files. While somebody does, the process continues.
func StopOutside(ctx context.Context, pid int, files ...string) error {
	for {
		if err := Stop(ctx, pid); err != nil {
			return err
		}
		free, err := unlocked(files)
		if err != nil || free {
			return err
		}
		if err := Continue(pid); err != nil {
			return err
		}
		if err := wait(ctx); err != nil {
			return fmt.Errorf("suspend process %d outside of its locks: %w", pid, err)
		}
	}
}

func wait(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// still reports whether all threads of a process are stopped, or gone.
func still(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return true
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		_, state, _ := strings.Cut(string(text), ") ") // the state follows the name
		if state != "" && !strings.ContainsRune("TtZX", rune(state[0])) {
			return false
		}
	}
	return true
}

// unlocked reports whether nobody holds a lock on any of the files.
func unlocked(files []string) (bool, error) {
	for _, name := range files {
		free, err := isFree(name)
		if err != nil || !free {
			return false, err
		}
	}
	return true, nil
}

func isFree(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, fmt.Errorf("look for a lock: %w", err)
	}
	defer f.Close()
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	default:
		return false, fmt.Errorf("look for a lock on %s: %w", name, err)
	}
}
