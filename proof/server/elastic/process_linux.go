package elastic

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// nobody is the user that servers run as which refuse to run as root.
const nobody = 65534

// yield gives the child, and its folder, to another user if this one is root.
func yield(cmd *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	for above := filepath.Dir(dir); above != os.TempDir() && above != filepath.Dir(above); above = filepath.Dir(above) {
		if err := passable(above); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
}

// passable lets others enter a folder that is ours.
func passable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o011 == 0o011 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}
