package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// Here a command runs in the process of the test, without a clock. What a user sees of processes that run on is tested
// in proof/cli.

// TestMain gives the tests a home of their own: other members on this machine take none of their seats.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "home-")
	if err == nil {
		err = errors.Join(os.Setenv("HOME", home), os.Setenv("XDG_CACHE_HOME", home))
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(home) // a temporary directory
	os.Exit(code)
}

// here runs a command in this process.
func here(stdin string, args ...string) (stdout, stderr string, code int) {
	return with(nil, stdin, args...)
}

// with is here with an environment.
func with(environment map[string]string, stdin string, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	getenv := func(name string) string {
		if name == "GOGC" {
			return "100" // else the command would change the garbage collector's settings for the tests that follow
		}
		return environment[name]
	}
	e := env{args: args, stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, getenv: getenv}
	code = execute(e)
	return out.String(), errs.String(), code
}

// place is the working directory of a test, with a folder for task files. Such a test is not parallel to others.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t, t.TempDir()}
	t.Chdir(p.dir)
	must.Succeed(t, os.Mkdir("tasks", 0o750))
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	must.Succeed(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o640))
}

// rota runs a command in the place.
func (p *place) rota(args ...string) (stdout, stderr string, code int) { return here("", args...) }

func containsAll(s string, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(s, w) })
}
