package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// One entry may end several jobs: each end has its record.
func TestTheEndsOfOneEntryAreJournaled(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		a := start(t, memory.New(), "a", func(c *Config) {
			c.Types["gate"] = work.Type{Name: "gate", New: func(work.Definition) (work.Runner, error) {
				return work.RunnerFunc(func(context.Context, *work.Grant) error { <-gate; return nil }), nil
			}}
		})
		const jobs = 24
		together := func(ended int) bool {
			for i := range jobs {
				a.submit(fmt.Sprint("x", ended+i), cluster.TaskSpec{Type: "gate"})
			}
			await(t, "all run", func() bool { return a.Status().Work.Counts.Running == jobs })
			for range jobs {
				gate <- struct{}{}
			}
			await(t, "all ends are journaled", func() bool { return len(a.records(journal.JobEnded)) == ended+jobs })
			entries := map[cluster.Index]bool{}
			for i := range jobs {
				j, _ := a.Value().Job(cluster.JobID(fmt.Sprint("x", ended+i)))
				entries[j.SpecIndex] = true
			}
			return len(entries) < jobs
		}
		for ended := 0; !together(ended); ended += jobs {
			if ended == 20*jobs {
				t.Fatal("no entry has ended two jobs")
			}
		}
	})
}

// Who had a partition before this process looked for the first time may have stopped at any time: how long nobody ran
// it is not known.
func TestWhatWasBeforeTheFirstLookIsUnknown(t *testing.T) {
	t.Parallel()
	var a absence
	a.look(valueOf(t, cluster.PrepareJoin{Member: "self", Heartbeat: "p"}), "self", protocol.Instant(time.Second))
	for _, from := range []cluster.MemberID{"self", "gone before"} {
		if d, known, handed := a.before("x", from, "self", protocol.Instant(4*time.Second)); d != 3*time.Second ||
			known || handed {
			t.Errorf("from %s: %v, known %t, handed %t", from, d, known, handed)
		}
	}
}
