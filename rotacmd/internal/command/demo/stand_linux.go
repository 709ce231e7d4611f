package demo

import "golang.org/x/sys/unix"

// StandsStill tells whether a child of this process is stopped by a signal, with all its threads. The signal alone does
// not tell: it is taken by one thread, when that one is run again, and until then the others go on. On a busy machine
// that is long enough for a write to begin.
func StandsStill(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}
