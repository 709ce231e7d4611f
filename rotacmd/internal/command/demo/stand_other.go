//go:build !linux

package demo

import "time"

// stopping is longer than a process goes on after a signal that stops it, on a machine that is not busy.
const stopping = 10 * time.Millisecond

// StandsStill waits for as long as a process that got a signal to stop may go on: what the system knows of it is not
// asked for here.
func StandsStill(int) bool {
	time.Sleep(stopping)
	return true
}
