package etcd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// receivedMetric counts what came in on calls and on streams: a renewal of a lease is one message of a stream that is never done.
const receivedMetric = "grpc_server_msg_received_total"

// Messages is how many messages a member has got from its clients since it started, by its own count.
func (c *Cluster) Messages(ctx context.Context, i int) (uint64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.nodes[i].Client+"/metrics", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	defer resp.Body.Close()
	n, err := sum(resp.Body, receivedMetric)
	if err != nil {
		return 0, fmt.Errorf("count messages: %s: %w", req.URL, err)
	}
	return n, nil
}

// sum adds up all series of a metric.
func sum(text io.Reader, metric string) (uint64, error) {
	var total float64
	found := false
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), metric)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			continue
		}
		n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		total, found = total+n, true
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("there is no metric %s", metric)
	}
	return uint64(total), nil
}
