package storetest

import "time"

// SetPatience shortens what suites wait for, in a process in which they are meant to fail.
func SetPatience(d time.Duration) { patience, renewalTTL = d, d/4 }
