package command

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/view"
)

// metricsOf is what /metrics of a member shows: its own, those of flows, of the Go runtime and the process, and which build it is.
func metricsOf(n *node.Node) prometheus.Gatherer {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rota_build_info", Help: "Always 1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision(), "goversion": runtime.Version(), "rota_member": string(n.Member())},
	})
	info.Set(1)
	read := func() []node.Metric { return append(n.Metrics(), view.Metrics(n.Value())...) }
	reg.MustRegister(api.NewCollector(n.Member(), read), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), info)
	if queue := n.Queue(); queue != nil {
		reg.MustRegister(api.NewFlowCollector(queue, n.Value))
	}
	return reg
}
