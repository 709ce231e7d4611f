package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// Messages is how many messages a node has got from its clients since it started, by its own count: requests, writes, and what acknowledges
// deliveries. Options.Monitor must be set.
func (p *Processes) Messages(ctx context.Context, i int) (uint64, error) {
	pl := p.plans[i]
	if pl.Watch == 0 {
		return 0, errors.New("count messages: Options.Monitor is not set")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(loopback, strconv.Itoa(pl.Watch))+"/varz", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	defer resp.Body.Close()
	var answer struct {
		InMsgs *uint64 `json:"in_msgs"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	if answer.InMsgs == nil {
		return 0, fmt.Errorf("count messages: %s says nothing of in_msgs (%s)", req.URL, resp.Status)
	}
	return *answer.InMsgs, nil
}
