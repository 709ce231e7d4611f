package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/rota-run/rota/protocol"
	"github.com/twmb/franz-go/pkg/kgo"
)

// line is what a member writes down when it is told.
type line struct {
	Member     string           `json:"member"`
	At         protocol.Instant `json:"at"`
	Assigned   []int32          `json:"assigned,omitempty"`
	Unassigned []int32          `json:"unassigned,omitempty"`
}

// live is one member, until ctx ends.
func live(ctx context.Context, o options, out io.Writer) error {
	var mu sync.Mutex
	enc := json.NewEncoder(out)
	tell := func(l line) {
		l.Member, l.At = o.member, protocol.Now()
		mu.Lock()
		defer mu.Unlock()
		_ = enc.Encode(l) // without a reader there is no measurement
	}
	unassigned := func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { tell(line{Unassigned: lost[o.group]}) }
	client, err := kgo.NewClient(
		kgo.SeedBrokers(o.brokers...), kgo.ClientID(o.member), kgo.ConsumerGroup(o.group), kgo.ConsumeTopics(o.group),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.SessionTimeout(o.session), kgo.HeartbeatInterval(o.session/3), kgo.RebalanceTimeout(2*o.session),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { tell(line{Assigned: got[o.group]}) }),
		kgo.OnPartitionsRevoked(unassigned), kgo.OnPartitionsLost(unassigned),
	)
	if err != nil {
		return fmt.Errorf("start a member: %w", err)
	}
	defer client.Close()
	for ctx.Err() == nil {
		client.PollFetches(ctx)
	}
	return nil
}
