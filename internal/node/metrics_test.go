package node

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMetrics gives each field a number of its own, so that a value under a wrong name shows.
func TestMetrics(t *testing.T) {
	t.Parallel()
	got := metricsText(metricsOf(Status{
		Member: protocol.Status{Joined: true, StoreError: "away", LeaseMS: 1500, Pending: 2},
		Work: supervisor.Status{
			Counts: supervisor.Counts{Waiting: 3, BackingOff: 4, Queued: 5, Running: 6, Stopping: 7, Finished: 8,
				Failed: 9, Failing: 42},
			Lateness: supervisor.Lateness{Rounds: 10, P50US: 11_000, P99US: 12_000, MaxUS: 13_000}, Unsent: 14,
			Skipped: 43,
			Runs: []supervisor.RunStatus{
				{Partition: "new", State: "running", NextMS: 1}, {Partition: "rota.source.x", State: "running"},
				{Partition: "sick", State: "running", NextMS: 1, Rounds: 60, FailedInRow: 53},
				{Partition: "well", State: "running", NextMS: 1, Rounds: 9},
				{Partition: "retries", State: "backing off", Attempt: 54},
				{Partition: "gave up", State: "failed", Attempt: 55},
				{Partition: "steady", State: "running", Attempt: 2},
			},
		},
		Calls: call.Status{
			Running: 15, Queued: 16, Done: 17, Failed: 18, Cancelled: 19, Retried: 20, Handled: 21, Released: 22,
			Lost: 23, Expired: 24, Unread: 25,
		},
		JournalDropped: 26,
		Samples:        publish.Stats{Queued: 27, Sent: 28, Dropped: 29, Errors: 30},
		UpMS:           31_500,
	}, 32, sums{
		moves: 37, removals: 38, losses: 39, longest: 41 * time.Second, malformed: 51, gap: durations(40 * time.Second),
		late: durations(52*time.Millisecond, time.Hour),
	}))
	const golden = "testdata/metrics.txt"
	if *update {
		must.Succeed(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// stated is a member with this status.
type stated struct {
	protocol.Member
	status protocol.Status
}

func (m stated) Status() protocol.Status { return m.status }

// TestReady tells all that keeps a member from its work.
func TestReady(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status protocol.Status
		want   string
	}{
		{protocol.Status{Joined: true, LeaseMS: 1}, "[]"},
		{protocol.Status{Joined: true}, "[it cannot prove that others still count on it, so its tasks are stopped]"},
		{protocol.Status{Joined: true, LeaseMS: 1, StoreError: "no"}, "[the store does not answer: no]"},
		{protocol.Status{StoreError: "no"}, "[it has not joined the cluster the store does not answer: no]"},
	} {
		if got := fmt.Sprint((&Node{member: stated{status: c.status}}).Ready()); got != c.want {
			t.Errorf("%+v: %s, want %s", c.status, got, c.want)
		}
	}
}

func durations(all ...time.Duration) (h supervisor.Histogram) {
	for _, d := range all {
		h.Add(d)
	}
	return h
}

// metricsText is a line for each value: name, label, kind, value, help.
func metricsText(all []Metric) string {
	var b strings.Builder
	for _, m := range all {
		if m.Kind == Histogram {
			fmt.Fprintf(&b, "%s %s %d in %s, at most %v: %v # %s\n", m.Name, m.Kind, m.Durations.Count, m.Durations.Sum,
				supervisor.Bounds(), m.Durations.Upto, m.Help)
		}
		for _, v := range m.Values {
			label := ""
			if m.Label != "" {
				label = fmt.Sprintf("{%s=%q}", m.Label, v.Label)
			}
			fmt.Fprintf(&b, "%s%s %s %v # %s\n", m.Name, label, m.Kind, v.Value, m.Help)
		}
	}
	return b.String()
}
