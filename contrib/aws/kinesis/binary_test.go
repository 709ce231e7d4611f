package kinesis_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/contrib/aws/kinesis"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// TestShardsOfACommand: the command rota, and a binary that rotacmd makes, have no rota.Member. A shard that ends there
// adds the one that continues it, as everywhere.
func TestShardsOfACommand(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"ListShards":           `{"Shards":[{"ShardId":"old"},{"ShardId":"new","ParentShardId":"old"}]}`,
		"GetShardIterator old": `{"ShardIterator":"old"}`,
		"GetShardIterator new": `{"ShardIterator":"new"}`,
		"GetRecords old":       `{"Records":[]}`, // no iterator: it has ended
		"GetRecords new":       `{"Records":[{"SequenceNumber":"7","PartitionKey":"p","Data":"eA=="}],"NextShardIterator":"end"}`,
		"GetRecords end":       `{"Records":[],"NextShardIterator":"end"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, what, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		for _, place := range []string{"old", "new", "end"} {
			if strings.Contains(string(body), `"`+place+`"`) {
				what += " " + place
			}
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, _ = io.WriteString(w, answers[what])
	}))
	t.Cleanup(server.Close)
	taken := make(chan string, 10)
	typ := kinesis.NewType("orders", kinesis.Records{Load: load,
		Take: func(_ context.Context, g *rota.Grant, _ []types.Record) error {
			taken <- g.Key
			return nil
		}})
	task := `{"type": "orders", "spread": "partitioned", "partitions": ["orders"], "config": {"region": "eu-north-1",
		"endpoint": "` + server.URL + `", "poll": "10ms"}}`
	n, err := node.New(node.Config{Member: "a", Store: memory.New().Open(), Protocol: replica.Protocol{},
		TTL: 10 * time.Second, Types: work.Types{typ.Name: typ},
		Files: map[string]fs.FS{"own": fstest.MapFS{"orders.json": {Data: []byte(task)}}}})
	must.Succeed(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, nil) }()
	t.Cleanup(func() { stop(); must.Succeed(t, <-ended) })
	select {
	case key := <-taken:
		if key != "orders/new" {
			t.Errorf("records of %s were taken", key)
		}
	case <-time.After(20 * time.Second):
		for p := range n.Value().Partitions() {
			t.Errorf("%s is %s: %s", p.ID, p.State, p.Message)
		}
	}
}
