package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/work/supervisor"
)

// NewCollector returns a Prometheus collector of a member's metrics. Each scrape calls read, which node.Node.Metrics implements.
// The caller registers the collector where it likes. Each value has the label rota_member: a name that scrapers do not give to their targets.
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
