package directory

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

// TestTallyKeepsFew: of many jobs that were added the journal names some and counts all, and the commands of the others are let go.
func TestTallyKeepsFew(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, maxLogged, maxLogged + 1, 100 * maxLogged} {
		var done tally
		var scan Scan
		for i := range n {
			id := cluster.JobID(fmt.Sprintf("t%05d", i))
			scan.Definitions = append(scan.Definitions, Definition{ID: id, Path: string(id) + ".yaml"})
			done.add([]cluster.Command{cluster.SubmitJob{Job: id}, cluster.KillJob{Job: "refused"}}, []cluster.Result{{Accepted: true}, {}})
		}
		records := done.records(scan, "s")
		named := min(n, maxLogged)
		if !slices.ContainsFunc(records, func(r journal.Record) bool { return r.Partition == "t00000" && r.Message == "t00000.yaml" }) || len(done.first) > maxLogged+1 {
			t.Errorf("%d jobs: it keeps %d commands; records %+v", n, len(done.first), records)
		}
		more := journal.Record{Kind: journal.TaskAdded, Message: fmt.Sprintf("%d tasks more of source s were added, changed or removed", n-named)}
		if n == named && len(records) != n || n > named && (len(records) != named+1 || records[named] != more) {
			t.Errorf("%d jobs: %d records, the last %+v", n, len(records), records[len(records)-1])
		}
	}
}
