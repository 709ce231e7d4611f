package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/rota-run/rota/store"
)

// checkSubject is where the confirmation of a subject of a flow is written: beside the messages, in the same stream.
func checkSubject(subject string) string {
	tokens := strings.Split(subject, ".")
	base := tokens[:6] // rota.BUCKET.q.FLOW.EDGE.NUMBER
	if tokens[4] == "u" {
		base = tokens[:5]
	}
	return strings.Join(base, ".") + ".check"
}

// consumerInfo is how far a shard was delivered and acknowledged.
type consumerInfo struct {
	AckFloor struct {
		Stream uint64 `json:"stream_seq"`
	} `json:"ack_floor"`
	Waiting uint64 `json:"num_pending"`
	Out     uint64 `json:"num_ack_pending"`
}

func (s *queues) consumer(ctx context.Context, flow string, shard store.Shard) (consumerInfo, error) {
	var out consumerInfo
	err := s.api(ctx, "CONSUMER.INFO."+s.names.shard(flow, shard), consumerName, struct{}{}, &out, false)
	if err != nil {
		return out, readError(err)
	}
	return out, nil
}

// lastOf is the sequence of the newest message of a subject of a shard, 0 if there is none.
func (s *queues) lastOf(ctx context.Context, flow string, shard store.Shard, subject string) (uint64, error) {
	m, err := s.fetch(ctx, s.names.shard(flow, shard), getRequest{LastBy: subject})
	if errors.Is(err, errAbsent) {
		return 0, nil
	}
	return m.seq, err
}

// Depth implements store.Queue. Unreported progress makes a shard look less advanced than it is; segments are not counted here.
func (s *queues) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	all, err := s.depths(ctx, flow, shards)
	if err != nil {
		return nil, fmt.Errorf("depth of flow %q: %w", flow, s.gone(ctx, flow, err))
	}
	return all, nil
}

func (s *queues) depths(ctx context.Context, flow string, shards []store.Shard) ([]store.Depth, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if len(shards) == 0 {
		all, err := s.readShards(ctx, flow)
		if err != nil {
			return nil, err
		}
		shards = all
	}
	for _, shard := range shards {
		if err := s.checkShard(ctx, flow, shard); err != nil {
			return nil, err
		}
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	out, errs := make([]store.Depth, len(shards)), make([]error, len(shards))
	var wg sync.WaitGroup
	room := make(chan struct{}, together)
	for i, shard := range shards {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			out[i], errs[i] = s.depth(ctx, flow, shard)
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// depth reads the seal first: what was stored before it is then seen, or counted as missing.
func (s *queues) depth(ctx context.Context, flow string, shard store.Shard) (store.Depth, error) {
	d := store.Depth{Shard: shard}
	seal, err := s.lastOf(ctx, flow, shard, s.names.sealOf(flow, shard))
	if err != nil {
		return d, err
	}
	d.Sealed = seal > 0
	var stream struct {
		State struct {
			Messages uint64            `json:"messages"`
			Checks   map[string]uint64 `json:"subjects"`
		} `json:"state"`
	}
	checks := struct {
		Filter string `json:"subjects_filter"`
	}{checkSubject(s.names.sealOf(flow, shard))}
	if err := s.api(ctx, "STREAM.INFO", s.names.shard(flow, shard), checks, &stream, false); err != nil {
		return d, readError(err)
	}
	d.Stored = stream.State.Messages
	for _, n := range stream.State.Checks {
		d.Stored -= n
	}
	if d.Sealed {
		d.Stored--
	}
	info, err := s.consumer(ctx, flow, shard)
	if err != nil {
		return d, err
	}
	d.Pending = info.Waiting + info.Out
	if !d.Sealed {
		return d, nil
	}
	// The consumer's server may not have all messages of the stream yet: that nothing waits there proves nothing. That all up to the last one were
	// acknowledged does.
	last, err := s.lastOf(ctx, flow, shard, s.names.messagesOf(flow, shard))
	if err == nil && info.AckFloor.Stream < last {
		d.Pending = max(d.Pending, 1)
	}
	return d, err
}
