// want: a test sleeps
// as: api/x_test.go

package api

import (
	"testing"
	"testing/synctest"
	"time"
)

func f(t *testing.T) {
	synctest.Test(t, func(*testing.T) {})
	time.Sleep(1)
}
