package zookeeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// started starts servers.
func started(t *testing.T, o Options) *Cluster {
	t.Helper()
	t.Setenv(Variable, "")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := Start(ctx, o)
	Require(t, err)
	t.Cleanup(c.Stop)
	return c
}

func TestSingleIsKilledAndComesBack(t *testing.T) {
	c := started(t, Options{})
	addr := c.Servers()[0]
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	if mode := c.nodes[0].mode(t.Context()); mode != "" {
		t.Fatalf("a killed server answers that it is %s", mode)
	}
	if err := c.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if mode := c.nodes[0].mode(t.Context()); mode != "standalone" || c.Servers()[0] != addr {
		t.Fatalf("restarted at %s in mode %q; want %s standalone", c.Servers()[0], mode, addr)
	}
	if want := "zookeeper://" + addr + "/rota"; c.URL("/rota") != want {
		t.Fatalf("URL %q, want %q", c.URL("/rota"), want)
	}
}

func TestEnsembleElectsAnother(t *testing.T) {
	c := started(t, Options{Nodes: 3})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first, err := c.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(first); err != nil {
		t.Fatal(err)
	}
	second, err := c.Leader(ctx)
	if err != nil || second == first {
		t.Fatalf("after the death of %d: leader %d, %v", first, second, err)
	}
	if err := c.Restart(ctx, first); err != nil {
		t.Fatal(err)
	}
}

func TestExternalServersAreNotStopped(t *testing.T) {
	t.Setenv(Variable, "zk1:2181,zk2:2181")
	c, err := Start(t.Context(), Options{Nodes: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if want := "zookeeper://zk1:2181,zk2:2181/x"; c.URL("/x") != want {
		t.Errorf("URL %q, want %q", c.URL("/x"), want)
	}
	if err := c.Kill(0); !errors.Is(err, ErrExternal) {
		t.Errorf("kill of a foreign server: %v", err)
	}
}

// TestJarsOfTheVariable names a folder with the server's jar, and one without it.
func TestJarsOfTheVariable(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(JarsVariable, dir)
	var missing *MissingError
	if _, err := jars(t.Context()); !errors.As(err, &missing) || !strings.Contains(err.Error(), JarsVariable) {
		t.Errorf("a folder without the jar: %v, want a MissingError that names %s", err, JarsVariable)
	}
	if err := os.WriteFile(filepath.Join(dir, "zookeeper-"+Version+".jar"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := jars(t.Context()); err != nil || got != dir {
		t.Errorf("jars in %q, %v; want %q", got, err, dir)
	}
}

func TestWithoutJava(t *testing.T) {
	t.Setenv(Variable, "")
	t.Setenv("PATH", "")
	_, err := Start(t.Context(), Options{})
	var missing *MissingError
	if !errors.As(err, &missing) || missing.What != "java" {
		t.Errorf("without java: %v, want a MissingError that names it", err)
	}
}
