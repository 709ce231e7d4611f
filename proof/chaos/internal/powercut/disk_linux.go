package powercut

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// From linux/fs headers: _IOR('X', 125, __u32), the same for ext4 and xfs; the flag says that not even the journal is written.
const (
	ioctlShutdown = 0x8004587d
	noLogFlush    = 2
)

// disk is a file system in an image file.
type disk struct {
	kind  kind
	image string
	mnt   string
}

// newDisk makes a file system and mounts it.
func newDisk(dir string, k kind) (*disk, error) {
	d := &disk{kind: k, image: filepath.Join(dir, "image"), mnt: filepath.Join(dir, "mnt")}
	if err := os.MkdirAll(d.mnt, 0o750); err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	f, err := os.Create(d.image)
	if err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	err = f.Truncate(k.size)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	if err := command(append(k.mkfs, d.image)...); err != nil {
		return nil, err
	}
	return d, d.mount()
}

func (d *disk) mount() error {
	return command("mount", "-t", d.kind.fs, "-o", "loop,noatime"+d.kind.options, d.image, d.mnt)
}

// cut shuts the file system down: what it has not sent to the device yet never gets there.
func (d *disk) cut() error {
	f, err := os.Open(d.mnt)
	if err != nil {
		return fmt.Errorf("cut the power: %w", err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), ioctlShutdown, noLogFlush); err != nil {
		return fmt.Errorf("cut the power: %w", os.NewSyscallError("ioctl", err))
	}
	return nil
}

// busyFor is how long a file system may be in use by somebody who is no writer: a process that is being started elsewhere in this program holds all that
// was open here, until it runs its own program.
const busyFor = 60 * time.Second

func (d *disk) unmount() error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := command("umount", d.mnt)
		if err == nil || !strings.Contains(err.Error(), "busy") || time.Since(began) > busyFor {
			return err
		}
	}
}

// close gives everything back.
func (d *disk) close() error {
	if err := d.unmount(); err != nil {
		return err
	}
	return os.Remove(d.image)
}
