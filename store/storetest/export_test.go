package storetest

import "time"

// SetPatience shortens what suites wait for, in a process in which they are meant to fail.
func SetPatience(d time.Duration) { patience = d }

// SetStormTime shortens how long clients work while links break.
func SetStormTime(d time.Duration) { stormTime = d }

// SetGrace shortens how long calls under a fault may take until their ctx ends.
func SetGrace(d time.Duration) { grace = d }
