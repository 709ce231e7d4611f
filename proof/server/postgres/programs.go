package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/rota-run/rota/proof/server/child"
)

// MissingError says what a machine lacks to run the server.
type MissingError = child.MissingError

// Require skips or fails a test where the error of [Start] or [Program] says so: [child.Require].
func Require(t testing.TB, err error) {
	t.Helper()
	child.Require(t, "PostgreSQL", err)
}

// folders are where Debian's packages put programs, the newest version last. What its PATH names may be a script that
// wants more packages.
const folders = "/usr/lib/postgresql/*/bin"

// Program finds a program of the server's packages. A [MissingError] says that it is not there.
func Program(name string) (string, error) {
	found, err := filepath.Glob(filepath.Join(folders, name))
	if err == nil && len(found) > 0 {
		slices.Sort(found)
		return found[len(found)-1], nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &MissingError{What: name, Variable: Variable, Err: err}
	}
	return filepath.EvalSymlinks(path) // the server finds its other files beside itself
}

// owner is who the server runs as: nil for who we are.
type owner struct{ uid, gid uint32 }

// ownerFor returns the user for the server's processes: the one of the package, where we are root.
func ownerFor() (*owner, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, &MissingError{What: "the user postgres", Variable: Variable, Err: err}
	}
	uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(errUID, errGID); err != nil {
		return nil, fmt.Errorf("read the numbers of user postgres: %w", err)
	}
	return &owner{uint32(uid), uint32(gid)}, nil
}

// command is a command that runs as the owner.
func (o *owner) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if o != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
	return cmd
}

// give makes a file or a folder the owner's.
func (o *owner) give(path string) error {
	if o == nil {
		return nil
	}
	return os.Chown(path, int(o.uid), int(o.gid))
}

// Give makes a folder that of the user whom the server runs as.
func Give(dir string) error {
	o, err := ownerFor()
	if err != nil {
		return err
	}
	return o.give(dir)
}

// passable is a folder for temporary files that the owner is let into: the usual one may lie in somebody's own.
func (o *owner) passable() string {
	if o == nil {
		return ""
	}
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		open := true
		for at := dir; open && at != filepath.Dir(at); at = filepath.Dir(at) {
			info, err := os.Stat(at)
			open = err == nil && info.Mode().Perm()&0o001 != 0
		}
		if open {
			return dir
		}
	}
	return ""
}
