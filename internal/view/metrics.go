package view

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
)

// Metrics measures a cluster by its value, as the sums of [Status] do: without what is Rota's own. It is plain data; see [node.Metric].
func Metrics(v cluster.Value) []node.Metric {
	m, t := Of(v).Counts()
	return []node.Metric{
		byState("rota_cluster_members", "Members of the cluster by state, as seen by this member.",
			count{"joined", m.Joined - m.Draining}, count{"draining", m.Draining}, count{"prepared", m.Prepared}, count{"held", m.Held}),
		byState("rota_cluster_partitions", "Partitions of the cluster's tasks by state, as seen by this member.",
			count{"waiting", t.Waiting}, count{"granted", t.Running}, count{"moving", t.Moving}, count{"held", t.Held}, count{"paused", t.Paused},
			count{"parked", t.Parked}, count{"blocked", t.Blocked}, count{"finished", t.Finished}),
	}
}

type count struct {
	state string
	n     int
}

func byState(name, help string, counts ...count) node.Metric {
	m := node.Metric{Name: name, Help: help, Kind: node.Gauge, Label: "state"}
	for _, c := range counts {
		m.Values = append(m.Values, node.MetricValue{Label: c.state, Value: float64(c.n)})
	}
	return m
}
