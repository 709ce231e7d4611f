package elastic

import (
	"context"
	"fmt"
)

// Requests returns how many HTTP requests a server of Elasticsearch has answered since it started, by its own count. OpenSearch has no such count.
func (c *Cluster) Requests(ctx context.Context, i int) (uint64, error) {
	var stats struct {
		Nodes map[string]struct {
			HTTP struct {
				Routes map[string]struct {
					Requests struct{ Count uint64 }
				}
			}
		}
	}
	n := &node{addr: c.Servers()[i]}
	if !n.get(ctx, "/_nodes/_local/stats/http", &stats) {
		return 0, fmt.Errorf("count requests: %s does not say how many it had", n.addr)
	}
	var sum uint64
	for _, s := range stats.Nodes {
		for _, r := range s.HTTP.Routes {
			sum += r.Requests.Count
		}
	}
	if sum == 0 {
		return 0, fmt.Errorf("count requests: %s does not count them", n.addr)
	}
	return sum, nil
}
