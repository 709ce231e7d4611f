package command

import "runtime/debug"

// The targets of the garbage collector. A process that reads the value once, shows something and ends has none below 400 MB; one that looks again has the
// other target from then on.
const (
	looksOnce  = 10_000
	looksAgain = 400
)

// leastForBigHeap is the memory limit from which on large pages are worth what they may waste.
const leastForBigHeap = 1 << 30

// lookOnce settles the memory of a process that reads the value, shows something and ends. GOGC, with which it returns false, and the limit of the cgroup
// have precedence.
func (e env) lookOnce() bool {
	limit := limitMemory(e.getenv, e.machine())
	if e.getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(looksOnce)
	if limit == 0 || limit >= leastForBigHeap {
		bigHeap()
	}
	return true
}
