// want: nothing
// as: api/x_test.go

package api

import "time"

func f(c chan int) {
	select {
	case <-c:
	case <-time.After(1):
	}
}
