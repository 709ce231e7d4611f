// Package childtest tests what all packages of servers that are programs of others promise.
//
// # Purpose
//
// That a server which was killed comes back where it was, that servers of others are left alone, and that a machine
// without a server says what it lacks is the same promise for each of them, and is tested here once.
package childtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/server/child"
)

// Cluster is what the packages have in common.
type Cluster interface {
	Servers() []string
	URL(path string) string
	Kill(i int) error
	Restart(ctx context.Context, nodes ...int) error
	Stop()
}

// Started is the cluster that a call has started, of the servers of this name; their variable is empty meanwhile. It is
// stopped after the test.
func Started[C Cluster](t *testing.T, name, variable string, start func(ctx context.Context) (C, error)) C {
	t.Helper()
	t.Setenv(variable, "")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c, err := start(ctx)
	child.Require(t, name, err)
	t.Cleanup(c.Stop)
	return c
}

// ComesBack kills a single server and starts it again: it serves at the same address, and its URL begins with scheme.
func ComesBack(t *testing.T, c Cluster, scheme, path string, serves func(ctx context.Context) bool) {
	t.Helper()
	addr := c.Servers()[0]
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	if serves(t.Context()) {
		t.Fatal("a killed server answers")
	}
	if err := c.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got := c.Servers()[0]; !serves(t.Context()) || got != addr {
		t.Fatalf("restarted at %s, want that it serves at %s", got, addr)
	}
	if want := scheme + "://" + addr + "/rota"; c.URL(path) != want {
		t.Fatalf("URL %q, want %q", c.URL(path), want)
	}
}

// External wants that servers which a variable names are used, and not stopped.
func External[C Cluster](t *testing.T, variable, scheme string, start func(ctx context.Context) (C, error)) {
	t.Helper()
	t.Setenv(variable, "h1:2181,h2:2181")
	c, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if want := scheme + "://h1:2181,h2:2181"; c.URL("") != want {
		t.Errorf("URL %q, want %q", c.URL(""), want)
	}
	if err := c.Kill(0); !errors.Is(err, child.ErrExternal) {
		t.Errorf("kill of a foreign server: %v", err)
	}
}

// Jars names a folder without the jars of a server, and one with them.
func Jars(t *testing.T, m child.Maven) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(m.Variable, dir)
	var missing *child.MissingError
	if _, err := m.Dir(t.Context()); !errors.As(err, &missing) || !strings.Contains(err.Error(), m.Variable) {
		t.Errorf("a folder without the jar: %v, want a MissingError that names %s", err, m.Variable)
	}
	if err := os.MkdirAll(filepath.Join(dir, m.Sample), 0o700); err != nil { // it is enough that there is something of this name
		t.Fatal(err)
	}
	if got, err := m.Dir(t.Context()); err != nil || got != dir {
		t.Errorf("jars in %q, %v; want %q", got, err, dir)
	}
}

// WithoutJava wants the error of a machine that lacks it.
func WithoutJava[C Cluster](t *testing.T, variable string, start func(ctx context.Context) (C, error)) {
	t.Helper()
	t.Setenv(variable, "")
	t.Setenv("PATH", "")
	_, err := start(t.Context())
	var missing *child.MissingError
	if !errors.As(err, &missing) || missing.What != "java" {
		t.Errorf("without java: %v, want a MissingError that names it", err)
	}
}
