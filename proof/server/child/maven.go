package child

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// Maven is a folder of files that Maven resolves once for each user of a machine.
type Maven struct {
	Folder   string // its name in the cache
	Variable string // of the environment: a folder to use instead
	Sample   string // a path that such a folder has
	Servers  string // the variable that [MissingError] names
	POM      string // the project whose dependencies are resolved
	// Goal is that of Maven's dependency plugin, with its flags. It fills the folder "out" of the working directory.
	// The default copies all jars.
	Goal   []string
	Cache  string                    // default: the user's
	Finish func(folder string) error // changes the folder before anybody sees it; may be nil
}

// Dir returns the folder, which it fills the first time. Several processes may do that at once. A [MissingError] says
// what this machine lacks.
func (m Maven) Dir(ctx context.Context) (string, error) {
	if dir := os.Getenv(m.Variable); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, m.Sample)); err != nil {
			return "", &MissingError{m.Sample + " in the folder of " + m.Variable, m.Servers, err}
		}
		return dir, nil
	}
	dir, err := Cached(m.Cache, m.Folder)
	if err != nil {
		return "", &MissingError{"a cache folder", m.Servers, err}
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", &MissingError{"mvn", m.Servers, err}
	}
	return dir, Publish(dir, func(tmp string) (string, error) { return m.resolve(ctx, mvn, tmp) })
}

func (m Maven) resolve(ctx context.Context, mvn, tmp string) (string, error) {
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), []byte(m.POM), 0o600); err != nil {
		return "", err
	}
	goal := m.Goal
	if goal == nil {
		goal = []string{"copy-dependencies", "-DoutputDirectory=out", "-DincludeScope=runtime"}
	}
	cmd := exec.CommandContext(ctx, mvn,
		append([]string{"-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:" + goal[0]},
			goal[1:]...)...)
	cmd.Dir = tmp
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", &MissingError{"a way to the servers' files", m.Servers, fmt.Errorf("mvn: %w: %.500s", err, text)}
	}
	out := filepath.Join(tmp, "out")
	if m.Finish == nil {
		return out, nil
	}
	return out, m.Finish(out)
}

// Cached is the path of a folder in a cache, whose parent it makes. cache "" is the user's.
func Cached(cache, name string) (_ string, err error) {
	if cache == "" {
		if cache, err = os.UserCacheDir(); err != nil {
			return "", err
		}
	}
	parent := filepath.Join(cache, "rota")
	return filepath.Join(parent, name), os.MkdirAll(parent, 0o755)
}

// Publish makes a folder in a temporary one beside it and renames it, so that it is complete or not there. The first
// one wins: all would make the same.
func Publish(dir string, fill func(tmp string) (made string, err error)) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		return fmt.Errorf("make a folder beside %s: %w", dir, err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // leftovers are harmless
	made, err := fill(tmp)
	if err != nil {
		return fmt.Errorf("fill %s: %w", dir, err)
	}
	if err := os.Rename(made, dir); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // another process was faster
}

// Java returns the program java; a [MissingError] names the variable that servers could be given in.
func Java(variable string) (string, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return "", &MissingError{What: "java", Variable: variable, Err: err}
	}
	return java, nil
}

// Parts returns what a server of these jars is started with: the program java, and the folder with them. A
// [MissingError] says what this machine lacks.
func (m Maven) Parts(ctx context.Context) (java, lib string, err error) {
	if java, err = Java(m.Servers); err != nil {
		return "", "", err
	}
	lib, err = m.Dir(ctx)
	return java, lib, err
}

// MissingError says what a machine lacks to run a server.
type MissingError struct {
	What     string // the program, the user or what could not be resolved
	Variable string // of the environment, with the addresses of servers to use instead
	Err      error
}

// Error implements error.
func (e *MissingError) Error() string {
	if e.Variable == "" {
		return fmt.Sprintf("%s is missing: %v", e.What, e.Err)
	}
	return fmt.Sprintf("%s is missing, or set %s=host:port to servers that run: %v", e.What, e.Variable, e.Err)
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// Require takes the error of starting a server of this name. On a [MissingError] it skips the test, which then says
// loudly that it did not run; in CI, where the variable CI is true, it fails the test. Any other error fails the test.
func Require(t testing.TB, server string, err error) {
	t.Helper()
	inCI, _ := strconv.ParseBool(os.Getenv("CI")) // anything else is not true
	var missing *MissingError
	switch {
	case err == nil:
	case errors.As(err, &missing) && !inCI:
		t.Skipf("NOT TESTED: %s cannot be started here: %v", server, err)
	default:
		t.Fatalf("start %s: %v", server, err)
	}
}
