//go:build unix

package tasks

import (
	"io/fs"
	"os"
	"syscall"
)

const tailSupported = true

// identify returns device and inode.
func identify(info fs.FileInfo) fileID {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}
	}
	return fileID{uint64(s.Dev), uint64(s.Ino)} //nolint:unconvert // the types differ between systems
}

// tailOpenFlags do not wait for a writer, should the path have become a named pipe.
const tailOpenFlags = os.O_RDONLY | syscall.O_NONBLOCK
