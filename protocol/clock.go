package protocol

import "time"

// NewProcessClock returns a clock that reads the monotonic clock of this process. It stops while the machine is
// suspended, so production members use [Now]. In a bubble of testing/synctest it reads virtual time, which Now cannot.
func NewProcessClock() func() Instant {
	start := time.Now()
	return func() Instant { return Instant(time.Since(start)) + 1 }
}
