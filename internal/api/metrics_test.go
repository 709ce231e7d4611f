package api

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store/memory"
)

func TestCollector(t *testing.T) {
	t.Parallel()
	var gaps supervisor.Histogram
	for _, d := range []time.Duration{time.Millisecond, 3 * time.Second, time.Hour} {
		gaps.Add(d)
	}
	c := NewCollector("a", func() []node.Metric {
		return []node.Metric{
			{Name: "rota_up", Help: "One value.", Kind: node.Gauge, Values: []node.MetricValue{{Value: 1.5}}},
			{
				Name: "rota_calls_total", Help: "Two values.", Kind: node.Counter, Label: "outcome",
				Values: []node.MetricValue{{Label: "done", Value: 2}, {Label: "failed", Value: 3}},
			},
			{Name: "rota_gap_seconds", Help: "Durations.", Kind: node.Histogram, Durations: gaps},
		}
	})
	if err := testutil.CollectAndCompare(c, strings.NewReader(`# HELP rota_calls_total Two values.
# TYPE rota_calls_total counter
rota_calls_total{outcome="done",rota_member="a"} 2
rota_calls_total{outcome="failed",rota_member="a"} 3
# HELP rota_gap_seconds Durations.
# TYPE rota_gap_seconds histogram
rota_gap_seconds_bucket{rota_member="a",le="0.001"} 1
rota_gap_seconds_bucket{rota_member="a",le="0.005"} 1
rota_gap_seconds_bucket{rota_member="a",le="0.01"} 1
rota_gap_seconds_bucket{rota_member="a",le="0.05"} 1
rota_gap_seconds_bucket{rota_member="a",le="0.1"} 1
rota_gap_seconds_bucket{rota_member="a",le="0.25"} 1
rota_gap_seconds_bucket{rota_member="a",le="0.5"} 1
rota_gap_seconds_bucket{rota_member="a",le="1"} 1
rota_gap_seconds_bucket{rota_member="a",le="2.5"} 1
rota_gap_seconds_bucket{rota_member="a",le="5"} 2
rota_gap_seconds_bucket{rota_member="a",le="10"} 2
rota_gap_seconds_bucket{rota_member="a",le="30"} 2
rota_gap_seconds_bucket{rota_member="a",le="60"} 2
rota_gap_seconds_bucket{rota_member="a",le="600"} 2
rota_gap_seconds_bucket{rota_member="a",le="+Inf"} 3
rota_gap_seconds_sum{rota_member="a"} 3603.001
rota_gap_seconds_count{rota_member="a"} 3
# HELP rota_up One value.
# TYPE rota_up gauge
rota_up{rota_member="a"} 1.5
`)); err != nil {
		t.Error(err)
	}
}

// TestCollectorOfANode uses a pedantic registry, which checks that what is collected was described.
func TestCollectorOfANode(t *testing.T) {
	t.Parallel()
	n := must.Get(node.New(node.Config{Member: "a", Protocol: replica.Protocol{}, Store: memory.New().Open()}))(t)
	c := NewCollector(n.Member(), n.Metrics)
	if faults, err := testutil.CollectAndLint(c); err != nil || len(faults) > 0 {
		t.Errorf("lint: %v %v", faults, err)
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families := must.Get(reg.Gather())(t)
	if got, want := len(families), len(n.Metrics())-1; got != want { // it has no task, so no rota_task_failures
		t.Errorf("%d families of %d metrics", got, want)
	}
	if err := reg.Register(NewCollector(n.Member(), n.Metrics)); err == nil {
		t.Error("the same member's metrics were registered twice")
	}
}
