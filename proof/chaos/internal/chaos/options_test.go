package chaos

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/shell"
)

// TestTheBoundKnowsLongerTTLs: what a member logs of its TTL is found again, and lengthens the bound.
func TestTheBoundKnowsLongerTTLs(t *testing.T) {
	t.Parallel()
	p := &started{log: filepath.Join(t.TempDir(), "a.log")}
	c := &Cluster{options: Options{TTL: time.Second}, processes: []*started{p}}
	if got := c.bound(); got != c.options.bound() {
		t.Errorf("without a log: %s, want %s", got, c.options.bound())
	}
	f := must.Get(os.Create(p.log))(t)
	defer f.Close()
	log := slog.New(slog.NewTextHandler(f, nil))
	for _, ttl := range []time.Duration{2 * time.Second, 4 * time.Second, 2 * time.Second} {
		log.Info(shell.LongerTTL, "ttl", ttl)
	}
	if got, want := c.bound(), (Options{TTL: 4 * time.Second}).bound(); got != want {
		t.Errorf("with a log: %s, want %s", got, want)
	}
}
