package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
)

// NewCollector returns a Prometheus collector of a member's metrics. Each scrape calls read, which node.Node.Metrics
// implements. The caller registers the collector where it likes. Each value has the label rota_member: a name that
// scrapers do not give to their targets.
func NewCollector(member cluster.MemberID, read func() []node.Metric) prometheus.Collector {
	return &collector{labels: prometheus.Labels{"rota_member": string(member)}, read: read}
}

type collector struct {
	labels prometheus.Labels
	read   func() []node.Metric
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.read() {
		ch <- c.desc(m)
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.read() {
		desc, kind := c.desc(m), kindOf(m.Kind)
		if m.Kind == node.Histogram {
			ch <- histogram(desc, m.Durations)
		}
		for _, v := range m.Values {
			if m.Label == "" {
				ch <- prometheus.MustNewConstMetric(desc, kind, v.Value)
				continue
			}
			ch <- prometheus.MustNewConstMetric(desc, kind, v.Value, v.Label)
		}
	}
}

func (c *collector) desc(m node.Metric) *prometheus.Desc {
	var labels []string
	if m.Label != "" {
		labels = []string{m.Label}
	}
	return prometheus.NewDesc(m.Name, m.Help, labels, c.labels)
}

func histogram(desc *prometheus.Desc, h supervisor.Histogram) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Upto))
	for i, bound := range supervisor.Bounds() {
		buckets[bound.Seconds()] = uint64(h.Upto[i]) //nolint:gosec // a count
	}
	return prometheus.MustNewConstHistogram(desc, uint64(h.Count), h.Sum.Seconds(), buckets) //nolint:gosec // a count
}

func kindOf(k node.MetricKind) prometheus.ValueType {
	if k == node.Counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

// The bounds of a scrape: the flows that are asked for, and how long the queue may take for all of them.
const (
	mostFlows  = 100
	flowsTaken = 2 * time.Second
)

// NewFlowCollector returns a Prometheus collector of how far the flows of running jobs are: what rota job show --follow
// draws. Of completed jobs it shows what has dead letters. Each scrape asks the queue; more than 100 flows, and those
// for which it has no answer in time, are counted as unshown.
func NewFlowCollector(queue store.Queue, value func() cluster.Value) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("rota_flow_"+name, help, labels, nil)
	}
	return &flowCollector{
		queue: queue, value: value,
		segments: desc("segments",
			"Segments of a flow task (messages, where the queue counts those), by state: in is what it has done.",
			"job", "task", "state", "unit"),
		sealed:   desc("sealed", "1 if a flow task gets no more input.", "job", "task"),
		complete: desc("complete", "1 if a flow task is complete.", "job", "task"),
		slots:    desc("slots", "Slots that run a flow task.", "job", "task"),
		unshown:  desc("unshown", "Flows left out, because there are too many or their queue did not answer."),
	}
}

type flowCollector struct {
	queue                                      store.Queue
	value                                      func() cluster.Value
	segments, sealed, complete, slots, unshown *prometheus.Desc

	mu    sync.Mutex
	clean map[string]bool // flows of completed jobs without dead letters: there will be none
}

// Describe implements prometheus.Collector.
func (c *flowCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.segments, c.sealed, c.complete, c.slots, c.unshown} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *flowCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), flowsTaken)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	v, asked, unshown, clean := c.value(), 0, 0, make(map[string]bool)
	for _, state := range [...]cluster.JobState{cluster.JobRunning, cluster.JobCompleted} {
		for j := range v.Jobs() {
			graph, err := supervisor.GraphOf(&j)
			if j.State != state || err != nil || len(graph.Edges) == 0 {
				continue
			}
			name := supervisor.FlowName(&j)
			if clean[name] = c.clean[name]; clean[name] {
				continue
			}
			if asked++; asked > mostFlows {
				unshown++
				continue
			}
			switch f, err := view.FlowOf(ctx, c.queue, v, j.ID); {
			case err != nil:
				unshown++
			case state == cluster.JobCompleted && (f == nil || !hasDead(f)):
				clean[name] = true
			case f != nil:
				c.show(ch, string(j.ID), f)
			}
		}
	}
	c.clean = clean
	ch <- prometheus.MustNewConstMetric(c.unshown, prometheus.GaugeValue, float64(unshown))
}

func hasDead(f *view.Flow) bool {
	return slices.ContainsFunc(f.Tasks, func(t view.FlowTask) bool { return t.Dead > 0 })
}

func (c *flowCollector) show(ch chan<- prometheus.Metric, job string, f *view.Flow) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, t := range f.Tasks {
		gauge(c.segments, float64(t.In), job, t.Task, "in", f.Unit)
		gauge(c.segments, float64(t.Pending), job, t.Task, "pending", f.Unit)
		gauge(c.segments, float64(t.Out), job, t.Task, "out", f.Unit)
		gauge(c.segments, float64(t.Dead), job, t.Task, "dead", f.Unit)
		gauge(c.sealed, truth(t.Sealed), job, t.Task)
		gauge(c.complete, truth(t.Complete), job, t.Task)
		gauge(c.slots, float64(t.Slots), job, t.Task)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
