package api

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/view"
	"github.com/rota-run/rota/work"
)

// The bounds of a scrape: the flows that are asked for, and how long the queue may take for all of them.
const (
	mostFlows  = 100
	flowsTaken = 2 * time.Second
)

// NewFlowCollector returns a Prometheus collector of how far the flows of running jobs are: what rota jobs --follow draws. Each scrape asks the queue; more than 100 flows,
// and those for which it has no answer in time, are counted as unshown.
func NewFlowCollector(queue store.Queue, value func() cluster.Value) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("rota_flow_"+name, help, labels, nil)
	}
	return &flowCollector{
		queue: queue, value: value,
		segments: desc("segments", "Segments of a task of a flow, or messages where the queue counts those: that came in and are done, that wait, that it put out, that are dead.", "job", "task", "state", "unit"),
		sealed:   desc("sealed", "1 when nothing more will come to a task of a flow.", "job", "task"),
		complete: desc("complete", "1 when a task of a flow is complete.", "job", "task"),
		slots:    desc("slots", "Slots on which a task of a flow runs.", "job", "task"),
		unshown:  desc("unshown", "Flows of running jobs that this answer leaves out: they are too many, or the queue has not answered."),
	}
}

type flowCollector struct {
	queue                                      store.Queue
	value                                      func() cluster.Value
	segments, sealed, complete, slots, unshown *prometheus.Desc
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
	v, asked, unshown := c.value(), 0, 0
	for j := range v.Jobs() {
		graph, err := work.GraphOf(&j)
		if j.State != cluster.JobRunning || err != nil || len(graph.Edges) == 0 {
			continue
		}
		if asked++; asked > mostFlows {
			unshown++
			continue
		}
		switch f, err := view.FlowOf(ctx, c.queue, v, j.ID); {
		case err != nil:
			unshown++
		case f != nil:
			c.show(ch, string(j.ID), f)
		}
	}
	ch <- prometheus.MustNewConstMetric(c.unshown, prometheus.GaugeValue, float64(unshown))
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
