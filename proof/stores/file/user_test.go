package file_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpenAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: only root can start a process of another user")
	}
	dir := t.TempDir()
	closed(t, dir)
	parent := filepath.Dir(dir)
	for _, d := range []string{parent, filepath.Dir(parent)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(parent, "helper")
	copyBinary(t, binary)
	for _, c := range []struct {
		name string
		mode fs.FileMode
	}{{"no entry", 0o700}, {"look only", 0o755}} {
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		var out []byte
		var err error
		// A process that another test starts in the instant in which the binary is written holds it open for writing until it has begun.
		eventually(t, "nobody has the binary open", func() bool { out, err = openAsNobody(binary, dir); return !errors.Is(err, syscall.ETXTBSY) })
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if !strings.Contains(line, "permission denied") || !strings.Contains(line, "try as the owner") {
				t.Errorf("%s: error %q, want permission denied and what to try", c.name, line)
			}
		}
	}
}

// openAsNobody runs the helper that opens a store, and returns what it says.
func openAsNobody(binary, dir string) ([]byte, error) {
	cmd := exec.Command(binary, dir)
	cmd.Env = append(os.Environ(), helperVariable+"=open")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	return cmd.Output()
}

func copyBinary(t *testing.T, to string) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}
