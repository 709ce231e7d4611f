package work

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/protocol"
)

// Boottime reads CLOCK_BOOTTIME: it goes on while the machine is suspended, and is not set by anybody.
func Boottime() protocol.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return monotonic() // kernels before 2.6.39
	}
	return protocol.Instant(time.Duration(ts.Nano()))
}
