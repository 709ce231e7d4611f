package rota_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestEmbeddingIsCheap bounds what a program links that only embeds a member: no metrics library, no HTTP, no client of
// a server (decision 30). A store adds packages of this module and what its driver needs, which is a checksum for the
// one in memory (decision 113).
func TestEmbeddingIsCheap(t *testing.T) {
	t.Parallel()
	member := linked(t, ".")
	if len(member) > 161 {
		t.Errorf("%d packages, at most 161 are promised", len(member))
	}
	all := linked(t, ".", "./store/memory")
	if len(all) > 171 {
		t.Errorf("%d packages with the store in memory, at most 171 are promised", len(all))
	}
	for _, p := range all {
		if !slices.Contains(member, p) && !strings.HasPrefix(p, "github.com/rota-run/rota/store/") &&
			p != "github.com/rota-run/rota/internal/store/driver/drivermap" && p != "hash/crc32" {
			t.Errorf("the store in memory links %s", p)
		}
	}
	for _, p := range all {
		for _, heavy := range []string{
			"net/http", "github.com/prometheus", "google.golang.org", "go.etcd.io", "github.com/nats-io",
			"github.com/go-zookeeper", "github.com/twmb", "modernc.org", "github.com/jackc",
		} {
			if p == heavy || strings.HasPrefix(p, heavy+"/") {
				t.Errorf("an embedded member links %s", p)
			}
		}
	}
}

// linked are the packages that some packages need, and these.
func linked(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
	must.Succeed(t, err)
	return strings.Fields(string(out))
}
