// Package standstill suspends processes, for tests of what a process does that was suspended.
//
// # Purpose
//
// SIGSTOP is a wish. When the call that sends it has returned, threads of the process may run on for some milliseconds on a busy machine, and take a lock
// in which they are then stopped: everybody else waits for that lock for as long as the process stands still. [Stop] returns when it does, and
// [StopOutside] lets it go on and tries again until it stands still without a lock that others need.
//
// # What is not guaranteed
//
// Whether a process stands still is read from /proc. On a system that has none, both trust that the signal is obeyed at once.
package standstill
