package protocol

import "golang.org/x/sys/unix"

// Now reads the suspend-aware monotonic clock of this machine (CLOCK_BOOTTIME). Only shells call it.
func Now() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // every Linux that Go runs on has it
	}
	return Instant(ts.Nano())
}
