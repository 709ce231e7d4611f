package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

var _ prometheus.Collector = (*Metrics)(nil)

// Metrics are the measurements of one node as a Prometheus collector; the caller registers it where it likes.
type Metrics struct {
	node *Node

	joined, storeUp, trust, pending, index *prometheus.Desc
	members, partitions, up                *prometheus.Desc
	rounds, lateness                       *prometheus.Desc
	samples, sampleErrors, queued, journal *prometheus.Desc
	moves, gapSum, gapMax, removals, lost  *prometheus.Desc
	calls, callsRunning, callsQueued       *prometheus.Desc
}

// Metrics makes a collector of this node.
func (n *Node) Metrics() *Metrics {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("rota_"+name, help, labels, prometheus.Labels{"member": string(n.c.Member)})
	}
	return &Metrics{
		node:         n,
		joined:       d("member_joined", "1 while this member is joined and may own tasks."),
		up:           d("member_up_seconds", "Time since this member was made."),
		storeUp:      d("store_up", "1 while the store answers."),
		trust:        d("member_trust_seconds", "How long this member may go on by what it last heard of the store."),
		pending:      d("proposals_pending", "Proposals that wait to be appended to the log."),
		index:        d("log_index", "Index of the last entry applied here."),
		members:      d("cluster_members", "Members of the cluster as this one sees it, by state.", "state"),
		partitions:   d("partitions", "Partitions on this member, by state.", "state"),
		rounds:       d("rounds_total", "Rounds of periodic tasks begun on this member."),
		lateness:     d("round_lateness_seconds", "How late rounds began, over the life of the process.", "stat"),
		samples:      d("samples_total", "Samples by what became of them.", "outcome"),
		queued:       d("samples_queued", "Samples that wait for the sink."),
		sampleErrors: d("sample_errors_total", "Failed tries to give samples to the sink."),
		journal:      d("journal_dropped_total", "Journal records that were lost."),
		moves:        d("moves_total", "Partitions that came to this member from another."),
		gapSum:       d("move_gap_seconds_total", "Time without an owner, summed over moves whose gap is known."),
		gapMax:       d("move_gap_max_seconds", "Longest known time without an owner of a move to this member."),
		removals:     d("member_removals_total", "Times that this member found itself removed."),
		calls:        d("calls_total", "Calls of functions by what became of them on this member.", "outcome"),
		callsRunning: d("calls_running", "Calls of functions that run on this member."),
		callsQueued:  d("calls_queued", "Calls that wait for a member, as this one has listed them last."),
		lost:         d("store_losses_total", "Times that the store stopped to answer."),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.joined, m.up, m.storeUp, m.trust, m.pending, m.index, m.members, m.partitions, m.rounds, m.lateness, m.samples, m.queued,
		m.sampleErrors, m.journal, m.moves, m.gapSum, m.gapMax, m.removals, m.lost, m.calls, m.callsRunning, m.callsQueued,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	s := m.node.Status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge(m.joined, truth(s.Member.Joined))
	gauge(m.up, float64(s.UpMS)/1000)
	gauge(m.storeUp, truth(s.Member.StoreError == ""))
	gauge(m.trust, float64(s.Member.TrustMS)/1000)
	gauge(m.pending, float64(s.Member.Pending))
	gauge(m.index, float64(m.node.Value().Index()))
	m.collectMembers(gauge)
	m.collectWork(s.Work, gauge, count)
	gauge(m.queued, float64(s.Samples.Queued))
	count(m.samples, float64(s.Samples.Sent), "sent")
	count(m.samples, float64(s.Samples.Dropped), "dropped")
	count(m.samples, float64(s.Work.Unsent), "unsent")
	count(m.sampleErrors, float64(s.Samples.Errors))
	count(m.journal, float64(s.JournalDropped))
	m.collectCalls(s.Calls, gauge, count)
	t := m.node.tally.read()
	count(m.moves, float64(t.moves))
	count(m.gapSum, t.gaps.Seconds())
	gauge(m.gapMax, t.longest.Seconds())
	count(m.removals, float64(t.removals))
	count(m.lost, float64(t.losses))
}

func (m *Metrics) collectMembers(gauge func(*prometheus.Desc, float64, ...string)) {
	var joined, draining, prepared, held int
	for mb := range m.node.Value().Members() {
		switch {
		case mb.State == cluster.MemberPrepared:
			prepared++
		case mb.State == cluster.MemberHeld:
			held++
		case mb.Draining:
			draining++
		default:
			joined++
		}
	}
	gauge(m.members, float64(joined), "joined")
	gauge(m.members, float64(draining), "draining")
	gauge(m.members, float64(prepared), "prepared")
	gauge(m.members, float64(held), "held")
}

func (m *Metrics) collectWork(s work.Status, gauge, count func(*prometheus.Desc, float64, ...string)) {
	c := s.Counts
	for _, p := range []struct {
		state string
		n     int
	}{
		{"waiting", c.Waiting}, {"backing-off", c.BackingOff}, {"queued", c.Queued}, {"running", c.Running},
		{"stopping", c.Stopping}, {"finished", c.Finished}, {"failed", c.Failed},
	} {
		gauge(m.partitions, float64(p.n), p.state)
	}
	count(m.rounds, float64(s.Lateness.Rounds))
	gauge(m.lateness, float64(s.Lateness.P50US)/1e6, "p50")
	gauge(m.lateness, float64(s.Lateness.P99US)/1e6, "p99")
	gauge(m.lateness, float64(s.Lateness.MaxUS)/1e6, "max")
}

func (m *Metrics) collectCalls(s call.Status, gauge, count func(*prometheus.Desc, float64, ...string)) {
	gauge(m.callsRunning, float64(s.Running))
	gauge(m.callsQueued, float64(s.Queued))
	for _, o := range []struct {
		outcome string
		n       int64
	}{
		{"done", s.Done}, {"failed", s.Failed}, {"cancelled", s.Cancelled}, {"retried", s.Retried}, {"handled", s.Handled}, {"released", s.Released},
		{"lost", s.Lost}, {"expired", s.Expired}, {"unread", s.Unread},
	} {
		count(m.calls, float64(o.n), o.outcome)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
