//go:build unix

package file

import (
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain runs the tests under a umask that hides no mode.
func TestMain(m *testing.M) {
	unix.Umask(0)
	goleak.VerifyTestMain(m)
}
