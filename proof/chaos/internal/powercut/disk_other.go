//go:build !linux

package powercut

import "errors"

type disk struct{ mnt string }

var errLinuxOnly = errors.New("file systems can be shut down on Linux only")

func newDisk(string, kind) (*disk, error) { return nil, errLinuxOnly }
func (*disk) mount() error                { return errLinuxOnly }
func (*disk) unmount() error              { return errLinuxOnly }
func (*disk) cut() error                  { return errLinuxOnly }
func (*disk) close() error                { return errLinuxOnly }
