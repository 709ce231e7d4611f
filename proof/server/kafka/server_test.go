package kafka

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// started starts brokers.
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
	if serving, err := c.nodes[0].serving(t.Context()); err == nil {
		t.Fatalf("a killed broker answers: %v", serving)
	}
	if err := c.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if serving, err := c.nodes[0].serving(t.Context()); err != nil || !serving[1] || c.Servers()[0] != addr {
		t.Fatalf("restarted at %s: %v, %v", c.Servers()[0], serving, err)
	}
	if want := "kafka://" + addr + "/rota"; c.URL("/rota") != want {
		t.Fatalf("URL %q, want %q", c.URL("/rota"), want)
	}
}

func TestExternalBrokersAreNotStopped(t *testing.T) {
	t.Setenv(Variable, "k1:9092,k2:9092")
	c, err := Start(t.Context(), Options{Nodes: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if want := "kafka://k1:9092,k2:9092/x"; c.URL("/x") != want {
		t.Errorf("URL %q, want %q", c.URL("/x"), want)
	}
	if err := c.Kill(0); !errors.Is(err, ErrExternal) {
		t.Errorf("kill of a foreign broker: %v", err)
	}
}

// TestJarsOfTheVariable names a folder with the broker's jar, and one without it.
func TestJarsOfTheVariable(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(JarsVariable, dir)
	var missing *MissingError
	if _, err := jars(t.Context()); !errors.As(err, &missing) || !strings.Contains(err.Error(), JarsVariable) {
		t.Errorf("a folder without the jar: %v, want a MissingError that names %s", err, JarsVariable)
	}
	if err := os.WriteFile(filepath.Join(dir, "kafka_2.13-"+Version+".jar"), nil, 0o600); err != nil {
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
