package rota_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestEmbeddingIsCheap bounds what a program links that only embeds a member: no metrics library, no HTTP, no client of a server (decision 30).
func TestEmbeddingIsCheap(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".", "./store/memory").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) > 164 {
		t.Errorf("%d packages, at most 164 are promised", len(packages))
	}
	for _, p := range packages {
		for _, heavy := range []string{
			"net/http", "github.com/prometheus", "google.golang.org", "go.etcd.io", "github.com/nats-io", "github.com/go-zookeeper", "github.com/twmb", "modernc.org", "github.com/jackc",
		} {
			if p == heavy || strings.HasPrefix(p, heavy+"/") {
				t.Errorf("an embedded member links %s", p)
			}
		}
	}
}
