// want: a test sleeps
// as: store/storetest/x.go

package storetest

import "time"

func f() { time.Sleep(1) }
