package kinesis_test

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/contrib/aws/kinesis"
)

// A shard ends whose neighbour in a merge nobody knows yet, since what that one continues is still
// being read: the neighbour adds the child, and nothing fails.
func TestMergeWithOneThatComesLater(t *testing.T) {
	s := &swarm{server: serve(t, 2)}
	s.write()
	open := s.open()
	left, right := open[0], open[1]
	s.turn(func() { s.split(right) })
	s.turn(func() { s.merge(left, s.open()[1]) })
	s.write()
	gate, taken := make(chan struct{}), make(chan string, 100*perKey)
	take := func(ctx context.Context, g *rota.Grant, records []types.Record) error {
		if g.Key == "orders/"+*right.ShardId {
			select {
			case <-gate:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		for _, r := range records {
			taken <- *r.PartitionKey + " " + string(r.Data)
		}
		return nil
	}
	typ := kinesis.NewType("orders", kinesis.Records{Load: load, Take: take})
	m := join(t, typ, kinesis.Config{Endpoint: s.url, Poll: quick}, "orders")
	s.await("the left shard is finished", func() bool {
		p, _ := m.Value().Partition(cluster.NewPartitionID("orders", "", "orders/"+*left.ShardId))
		if p.Attempts > 0 {
			t.Fatal(p.Message)
		}
		return p.State == cluster.PartitionFinished
	})
	close(gate)
	s.await("all records are taken", func() bool { return len(taken) == s.put*perKey })
	var merged [][]string
	for p := range m.Value().Partitions() {
		if p.Attempts > 0 {
			t.Errorf("%s has failed: %s", p.ID, p.Message)
		}
		if len(p.Parents) == 2 {
			merged = append(merged, p.Parents)
		}
	}
	want := []string{"orders/" + *left.ShardId, "orders/shardId-000000000002"}
	if len(merged) != 1 || !slices.Equal(merged[0], want) {
		t.Errorf("merged are %q, want %q", merged, want)
	}
}
