//go:build !unix || solaris || illumos || aix

package file

import (
	"fmt"
	"os"
	"runtime"
)

// flock is what this store cannot do without.
func flock(f *os.File, exclusive, wait bool) (bool, error) {
	return false, fmt.Errorf("lock %s: the file store does not run on %s", f.Name(), runtime.GOOS)
}

func funlock(f *os.File) error { return nil }
