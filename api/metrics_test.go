package api

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rota-run/rota/node"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/memory"
)

func TestCollector(t *testing.T) {
	t.Parallel()
	c := NewCollector("a", func() []node.Metric {
		return []node.Metric{
			{Name: "rota_up", Help: "One value.", Kind: node.Gauge, Values: []node.MetricValue{{Value: 1.5}}},
			{
				Name: "rota_calls_total", Help: "Two values.", Kind: node.Counter, Label: "outcome",
				Values: []node.MetricValue{{Label: "done", Value: 2}, {Label: "failed", Value: 3}},
			},
		}
	})
	if err := testutil.CollectAndCompare(c, strings.NewReader(`# HELP rota_calls_total Two values.
# TYPE rota_calls_total counter
rota_calls_total{member="a",outcome="done"} 2
rota_calls_total{member="a",outcome="failed"} 3
# HELP rota_up One value.
# TYPE rota_up gauge
rota_up{member="a"} 1.5
`)); err != nil {
		t.Error(err)
	}
}

// TestCollectorOfANode uses a pedantic registry, which checks that what is collected was described.
func TestCollectorOfANode(t *testing.T) {
	t.Parallel()
	n, err := node.New(node.Config{Member: "a", Store: memory.New().Open(), Protocol: replica.Protocol{}})
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(n.Member(), n.Metrics)
	if faults, err := testutil.CollectAndLint(c); err != nil || len(faults) > 0 {
		t.Errorf("lint: %v %v", faults, err)
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(families), len(n.Metrics()); got != want {
		t.Errorf("%d families of %d metrics", got, want)
	}
	if err := reg.Register(NewCollector(n.Member(), n.Metrics)); err == nil {
		t.Error("the same member's metrics were registered twice")
	}
}
