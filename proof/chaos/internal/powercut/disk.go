package powercut

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// From linux/fs headers: _IOR('X', 125, __u32), the same for ext4 and xfs; the flag says that not even the journal is
// written.
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

// busyFor is how long a file system may be in use by somebody who is no writer: a process that is being started
// elsewhere in this program holds all that was open here, until it runs its own program.
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

// kind is a kind of file system.
type kind struct {
	name    string
	fs      string
	mkfs    []string
	size    int64  // of the image, in bytes; it is sparse
	options string // of mount, each with a comma before it
}

// kinds are those that have the ioctl. The long commit interval keeps ext4 from saving by chance what nobody synced.
func kinds() []kind {
	ext4 := []string{"mkfs.ext4", "-q", "-F"}
	return []kind{
		{"ext4", "ext4", ext4, 128 << 20, ",commit=300"},
		{"ext4-writeback", "ext4", ext4, 128 << 20, ",commit=300,data=writeback"},
		{"xfs", "xfs", []string{"mkfs.xfs", "-q", "-f"}, 320 << 20, ""},
	}
}

// attributes make a group of a writer and what runs it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup is kill -9 of that group, which may have ended.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// command runs a program; its error is what it said.
func command(args ...string) error {
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err == nil {
		return nil
	}
	if text := strings.Join(strings.Fields(string(out)), " "); text != "" {
		return fmt.Errorf("%s: %s", args[0], text)
	}
	return fmt.Errorf("%s: %w", args[0], err)
}
