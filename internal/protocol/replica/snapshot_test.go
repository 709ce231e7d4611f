package replica_test

import (
	"fmt"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// TestSnapshotsByTheCostOfReplay: with many tasks an entry costs much to apply again, and snapshots follow sooner than after SnapshotEvery entries. Else a command or
// a restarted member needs half a minute to read the log of 100,000 tasks.
func TestSnapshotsByTheCostOfReplay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.read()
	b.renew()
	b.written()
	b.read()
	b.phase(member.PhaseMember)
	keys := make([]string, 25_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("%05d", i)
	}
	spec := cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{{Type: "steady", Spread: cluster.SpreadPartitioned, Partitions: keys}}}
	b.add(cluster.Entry{Writer: "other", Seq: uint64(len(b.log) + 1), Commands: []cluster.Command{cluster.SubmitJob{Job: "j", Spec: spec}}})
	replay := func(entries int) int {
		for range entries {
			b.other()
		}
		b.fx = nil
		b.read()
		saved := 0
		for _, e := range b.fx {
			if s, ok := e.(member.SaveSnapshot); ok {
				saved++
				if behind := b.state.Value().Applied() - s.Value.Applied(); behind > cluster.BaseEvery {
					t.Errorf("the snapshot is %d entries behind", behind)
				}
				b.step(member.SnapshotSaved{Now: b.now})
			}
		}
		return saved
	}
	for _, c := range []struct{ entries, want int }{{64, 0}, {64, 1}, {50, 0}, {78, 1}} {
		if got := replay(c.entries); got != c.want {
			t.Errorf("%d snapshots after %d entries more, want %d", got, c.entries, c.want)
		}
	}
}
