// want: nothing
// as: api/x_test.go

package api

import "time"

func f(ok func() bool) {
	for !ok() {
		time.Sleep(1) // waits: looks again
	}
}
