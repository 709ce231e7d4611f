//go:build !unix || solaris || illumos || aix

package file

import (
	"fmt"
	"os"
	"runtime"
)

// runsHere says that the store does not run on this system, before anything is made.
func runsHere() error {
	return fmt.Errorf("the file store does not run on %s: it lacks the locks", runtime.GOOS)
}

// flock is what this store cannot do without.
func flock(f *os.File, exclusive, wait bool) (bool, error) {
	return false, runsHere()
}

func funlock(f *os.File) error { return nil }
