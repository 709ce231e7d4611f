package elastic

import (
	"context"
	"errors"
	"testing"
	"time"
)

// started starts servers.
func started(t *testing.T, o Options) *Cluster {
	t.Helper()
	t.Setenv(o.Kind.Variable, "")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c, err := Start(ctx, o)
	Require(t, err)
	t.Cleanup(c.Stop)
	return c
}

func TestSingleIsKilledAndComesBack(t *testing.T) {
	for _, kind := range []Kind{Elasticsearch, OpenSearch} {
		t.Run(kind.Name, func(t *testing.T) {
			c := started(t, Options{Kind: kind})
			addr := c.Servers()[0]
			if err := c.Kill(0); err != nil {
				t.Fatal(err)
			}
			var health any
			if c.nodes[0].get(t.Context(), "/_cluster/health", &health) {
				t.Fatalf("a killed server answers: %v", health)
			}
			if err := c.Restart(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if !c.nodes[0].get(t.Context(), "/_cluster/health", &health) || c.Servers()[0] != addr {
				t.Fatalf("restarted at %s, health %v; want %s", c.Servers()[0], health, addr)
			}
			if want := "elastic://" + addr + "/rota"; c.URL("rota") != want {
				t.Fatalf("URL %q, want %q", c.URL("rota"), want)
			}
		})
	}
}

func TestExternalServersAreNotStopped(t *testing.T) {
	t.Setenv(OpenSearch.Variable, "h1:9200,h2:9200")
	c, err := Start(t.Context(), Options{Kind: OpenSearch, Nodes: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if want := "elastic://h1:9200,h2:9200"; c.URL("") != want {
		t.Errorf("URL %q, want %q", c.URL(""), want)
	}
	if err := c.Kill(0); !errors.Is(err, ErrExternal) {
		t.Errorf("kill of a foreign server: %v", err)
	}
}

// TestHomeOfTheVariable names a folder without servers.
func TestHomeOfTheVariable(t *testing.T) {
	t.Setenv(HomeVariable, t.TempDir())
	var missing *MissingError
	if _, err := Homes(t.Context()); !errors.As(err, &missing) {
		t.Errorf("a folder without servers: %v", err)
	}
}
