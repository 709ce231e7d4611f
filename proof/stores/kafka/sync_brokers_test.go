package kafka_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/kafka"
)

// TestSyncOnThreeBrokers kills the broker that leads the topic of a cluster, and then the one that coordinates its
// group. Each time the members agree again with the two that are left: what they run is shared, each partition has one
// owner, and a new job is placed.
func TestSyncOnThreeBrokers(t *testing.T) {
	c := threeServers(t)
	o := kafka.Options{Brokers: c.Servers(), Name: freshName(t), Timeout: 5 * time.Second}
	open := func(t *testing.T) *kafka.Store { return openWith(t, o) }
	_, first := start(t, open, "web-1")
	_, second := start(t, open, "web-2")
	jobs := 0
	place := func(job cluster.JobID) {
		t.Helper()
		spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "read", Spread: cluster.SpreadPartitioned,
			Partitions: []string{"a", "b", "c", "d"}}}}
		if got, err := first.Propose(rig.LongDeadline(t), cluster.SubmitJob{Job: job, Spec: spec}); err != nil ||
			!got[0].Accepted {
			t.Fatal(got, err)
		}
		jobs++
		rig.Eventually(t, "both members run half of the partitions of "+string(job), func() bool {
			return agreed(first, second) && owned(first, "web-1") == 2*jobs && owned(first, "web-2") == 2*jobs
		})
	}
	place("before")
	for _, victim := range []struct {
		job  cluster.JobID
		find func() int
	}{
		{"without-the-leader", func() int { return leader(t, c, o.Name+".log") }},
		{"without-the-coordinator", func() int { return coordinator(t, c, o.Name) }},
	} {
		dead := victim.find()
		must.Succeed(t, c.Kill(dead))
		place(victim.job)
		must.Succeed(t, c.Restart(rig.LongDeadline(t), dead))
	}
}

// leader is the broker that leads a topic.
func leader(t *testing.T, c *server.Cluster, topic string) int {
	t.Helper()
	n, err := c.Leader(rig.LongDeadline(t), topic)
	must.Succeed(t, err)
	return n
}

// agreed reports whether two members hold the same value.
func agreed(a, b protocol.Member) bool {
	one, other := a.Value(), b.Value()
	return one.Index() == other.Index() && one.Digest() == other.Digest()
}
