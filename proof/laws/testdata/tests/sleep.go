// want: a test sleeps
// as: api/x_test.go

package api

import "time"

func f() { time.Sleep(1) }
