package command

import (
	"testing"

	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/store/memory"
)

// /metrics shows what people look for in any Go service, beside what only Rota has.
func TestMetricsOfAMember(t *testing.T) {
	t.Parallel()
	n := must.Get(node.New(node.Config{Member: "a", Protocol: replica.Protocol{}, Store: memory.New().Open()}))(t)
	families := must.Get(metricsOf(n).Gather())(t)
	names := make(map[string]string)
	for _, f := range families {
		names[f.GetName()] = f.GetType().String()
	}
	for name, kind := range map[string]string{
		"go_goroutines": "GAUGE", "process_start_time_seconds": "GAUGE", "rota_build_info": "GAUGE",
		"rota_gap_seconds": "HISTOGRAM", "rota_round_lateness_seconds": "HISTOGRAM",
		"rota_rounds_skipped_total": "COUNTER", "rota_cluster_partitions": "GAUGE",
		"rota_malformed_definitions": "GAUGE",
	} {
		if names[name] != kind {
			t.Errorf("%s is %q, want %s", name, names[name], kind)
		}
	}
}
