//go:build !unix || solaris || illumos || aix

package command

import (
	"errors"
	"os"
)

// lockFile says that there are no such locks here, and so no limit.
func lockFile(*os.File) (bool, error) { return false, errors.ErrUnsupported }
