package tasks

import "golang.org/x/sys/unix"

// bootTime is CLOCK_BOOTTIME in nanoseconds: it goes on during suspend and is the same for all processes.
func bootTime() (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return t.Nano(), err
}
