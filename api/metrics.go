package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/node"
)

// NewCollector returns a Prometheus collector of a member's metrics. Each scrape calls read, which node.Node.Metrics implements.
// The caller registers the collector where it likes.
func NewCollector(member cluster.MemberID, read func() []node.Metric) prometheus.Collector {
	return &collector{labels: prometheus.Labels{"member": string(member)}, read: read}
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

func kindOf(k node.MetricKind) prometheus.ValueType {
	if k == node.Counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}
