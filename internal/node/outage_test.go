package node

import (
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// linesOf are those of a log so far.
func linesOf(log *output.Text) []string {
	return strings.SplitAfter(strings.TrimSpace(log.String()), "\n")
}

// TestAStoreThatRefusesWritesIsAway: a full disk answers reads. The store is away from the first write that fails to
// the first one that is acknowledged, without a moment in between; that is one line of the log and one record each, and
// the log says little meanwhile.
func TestAStoreThatRefusesWritesIsAway(t *testing.T) {
	for _, p := range []protocol.Protocol{replica.Protocol{}, leader.Protocol{}, lease.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				const outage, most = 5 * time.Minute, 20 // lines of the log
				var full atomic.Bool
				log := &output.Text{}
				s := memory.New()
				b := start(t, s, "b", func(c *Config) {
					inner := s.Open()
					t.Cleanup(func() { inner.Close() })
					c.Protocol, c.Logger = p, slog.New(slog.NewTextHandler(log, nil))
					c.Store = faults.NewFaulty(inner, func(call faults.Call) faults.Outcome {
						if full.Load() && slices.Contains([]string{"put", "delete", "append", "save", "trim", "session",
							"sessionput"}, call.Op) {
							return faults.Refused
						}
						return faults.Pass
					})
				})
				b.submit("x", cluster.TaskSpec{Type: "stay"})
				runs := func() bool { return b.Status().Work.Counts.Running == 1 }
				up := func() bool { return b.Status().Member.StoreError == "" }
				await(t, "it runs", func() bool { return runs() && up() })
				before := len(linesOf(log))
				full.Store(true)
				await(t, "the store is away", func() bool { return !up() })
				for end := time.Now().Add(outage); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // waits: in virtual time
					if up() {
						t.Fatalf("it is up %v before it takes a write", time.Until(end))
					}
				}
				said := linesOf(log)[before:]
				full.Store(false)
				await(t, "it runs again", func() bool { return runs() && up() })
				await(t, "the outage is journaled", func() bool { return len(b.records(journal.StoreBack)) > 0 })
				if lost, back := len(b.records(journal.StoreLost)), len(b.records(journal.StoreBack)); lost != 1 ||
					back != 1 {
					t.Errorf("one outage is %d store-lost and %d store-back", lost, back)
				}
				if len(said) > most {
					t.Errorf("%d lines in %v, want %d at most:\n%s", len(said), outage, most,
						strings.Join(said[:min(len(said), 40)], ""))
				}
			})
		})
	}
}
