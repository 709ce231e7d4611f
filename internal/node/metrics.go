package node

import (
	"fmt"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
)

// Metric is a family of measurements under one name. It is plain data, so that a program that embeds a member does not
// link a metrics library; api.NewCollector turns it into a Prometheus collector.
type Metric struct {
	Name   string
	Help   string
	Kind   MetricKind
	Label  string        // the label that distinguishes the values; "" means a single value
	Values []MetricValue // always for the same labels, but for rota_task_failures, which has one for each task; nil for a histogram
	// Durations are those of a histogram, in seconds when they are shown.
	Durations supervisor.Histogram
}

// MetricValue is one value of a [Metric]. Label is "" if the metric has no label.
type MetricValue struct {
	Label string
	Value float64
}

// MetricKind says how the values of a [Metric] may change.
type MetricKind string

// The kinds of metrics.
const (
	Gauge   MetricKind = "gauge"   // goes up and down
	Counter MetricKind = "counter" // only grows while the process runs
	// Histogram counts durations.
	Histogram MetricKind = "histogram"
)

// Metrics measures this node now; view.Metrics measures the cluster. Names, labels and their order do not depend on the
// node's state.
func (n *Node) Metrics() []Metric {
	return metricsOf(n.Status(), n.Value().Index(), n.stats.read())
}

func metricsOf(s Status, index cluster.Index, t sums) []Metric {
	return []Metric{
		gauge("member_joined", "1 while this member is joined and may own tasks.", truth(s.Member.Joined)),
		gauge("member_up_seconds", "Seconds since this member started.", float64(s.UpMS)/1000),
		gauge("store_up", "1 while the store answers and accepts writes.", truth(s.Member.StoreError == "")),
		gauge("member_lease_seconds", "Remaining time of this member's lease.", float64(s.Member.LeaseMS)/1000),
		gauge("proposals_pending", "Proposals waiting to be appended to the log.", float64(s.Member.Pending)),
		counter("proposals_refused_total", "Proposals of this member that the cluster refused.",
			float64(s.Member.Refused)),
		gauge("log_index", "Index of the last log entry that this member applied.", float64(index)),
		gauge("malformed_definitions", "Task definitions that this member has read and cannot use.",
			float64(t.malformed)),
		partitions(s.Work.Counts),
		gauge("partitions_failing", "Partitions of periodic tasks on this member whose last round failed.",
			float64(s.Work.Counts.Failing)),
		taskFailures(s.Work.Runs),
		counter("rounds_total", "Rounds of periodic tasks started by this member.", float64(s.Work.Lateness.Rounds)),
		counter("rounds_skipped_total",
			"Rounds skipped, because the previous one or the process was not ready when they were due.",
			float64(s.Work.Skipped)),
		{Name: "rota_round_lateness_seconds", Help: "Delay between the time a round was due and its start.",
			Kind: Histogram, Durations: t.late},
		gauge("round_lateness_max_seconds", "Longest delay between the time a round was due and its start.",
			float64(s.Work.Lateness.MaxUS)/1e6),
		samples(s),
		gauge("samples_queued", "Samples waiting for delivery to a sink.", float64(s.Samples.Queued)),
		counter("sample_errors_total", "Failed attempts to deliver samples to a sink.", float64(s.Samples.Errors)),
		counter("journal_dropped_total", "Journal records lost.", float64(s.JournalDropped)),
		counter("moves_total", "Partitions moved to this member from another.", float64(t.moves)),
		gauge("move_gap_max_seconds", "Longest known time without an owner, of the tasks that moved to this member.",
			t.longest.Seconds()),
		{Name: "rota_gap_seconds", Help: "Time without an owner before this member started a task.", Kind: Histogram,
			Durations: t.gap},
		counter("member_removals_total", "Times that this member was removed from the cluster.", float64(t.removals)),
		calls(s.Calls),
		gauge("calls_running", "Function calls running on this member.", float64(s.Calls.Running)),
		gauge("calls_queued", "Function calls waiting for a member, as of this member's last listing.",
			float64(s.Calls.Queued)),
		counter("store_losses_total", "Times that the store became unavailable.", float64(t.losses)),
	}
}

func gauge(name, help string, v float64) Metric {
	return Metric{Name: "rota_" + name, Help: help, Kind: Gauge, Values: []MetricValue{{Value: v}}}
}

func counter(name, help string, v float64) Metric {
	return Metric{Name: "rota_" + name, Help: help, Kind: Counter, Values: []MetricValue{{Value: v}}}
}

func partitions(c supervisor.Counts) Metric {
	return Metric{Name: "rota_partitions", Help: "Partitions on this member, by state.", Kind: Gauge, Label: "state",
		Values: []MetricValue{
			{"waiting", float64(c.Waiting)}, {"backing-off", float64(c.BackingOff)}, {"queued", float64(c.Queued)},
			{"running", float64(c.Running)},
			{"stopping", float64(c.Stopping)}, {"finished", float64(c.Finished)}, {"failed", float64(c.Failed)},
		}}
}

// taskFailures has a value for each task of which a result is known: of a periodic one, since its first round here has
// ended.
func taskFailures(runs []supervisor.RunStatus) Metric {
	m := Metric{Name: "rota_task_failures", Kind: Gauge, Label: "task",
		Help: "Consecutive failures of a task on this member; 0 while it runs or after a successful round."}
	for _, r := range runs {
		waits := r.NextMS != 0 && r.Rounds == 0
		if waits || r.Partition.Reserved() {
			continue
		}
		failures := r.FailedInRow
		if r.Retries() {
			failures = r.Attempt
		}
		m.Values = append(m.Values, MetricValue{string(r.Partition), float64(failures)})
	}
	return m
}

func samples(s Status) Metric {
	return Metric{Name: "rota_samples_total", Help: "Samples by outcome.", Kind: Counter, Label: "outcome",
		Values: []MetricValue{
			{"sent", float64(s.Samples.Sent)}, {"dropped", float64(s.Samples.Dropped)},
			{"unsent", float64(s.Work.Unsent)},
		}}
}

func calls(s call.Status) Metric {
	return Metric{Name: "rota_calls_total", Help: "Function calls by their outcome on this member.", Kind: Counter,
		Label: "outcome", Values: []MetricValue{
			{"done", float64(s.Done)}, {"failed", float64(s.Failed)}, {"cancelled", float64(s.Cancelled)},
			{"retried", float64(s.Retried)},
			{"handled", float64(s.Handled)}, {"released", float64(s.Released)}, {"lost", float64(s.Lost)},
			{"expired", float64(s.Expired)},
			{"unread", float64(s.Unread)},
		}}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Ready returns the reasons why this member cannot do its work now; none if it can. It may be called from any
// goroutine.
func (n *Node) Ready() []string {
	s := n.member.Status()
	var reasons []string
	if !s.Joined {
		reasons = append(reasons, "it has not joined the cluster")
	}
	if s.StoreError != "" {
		reasons = append(reasons, fmt.Sprintf("the store does not answer: %s", s.StoreError))
	}
	if s.Joined && s.LeaseMS == 0 {
		reasons = append(reasons, "it cannot prove that others still count on it, so its tasks are stopped")
	}
	return reasons
}
