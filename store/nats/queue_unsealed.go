package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/flow"
	"github.com/rota-run/rota/store"
)

// putUnsealed is putOnce for a message that must come before the seal of its shard. The message is written only if its stream is as it was before the look for
// the seal: so a seal that the look has missed refuses it.
func (s *queues) putUnsealed(ctx context.Context, name string, shard store.Shard, m *nc.Msg) (flow.Answer, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	stream := s.names.shard(name, shard)
	for ctx.Err() == nil {
		last, err := s.lastSequence(ctx, stream)
		if err != nil {
			return 0, err
		}
		switch _, err := s.fetch(ctx, stream, getRequest{LastBy: m.Subject}); {
		case err == nil:
			return s.putOnce(ctx, stream, m) // it is there: for good?
		case !errors.Is(err, errAbsent):
			return 0, err
		}
		seal, err := s.lastOf(ctx, name, shard, s.names.sealOf(name, shard))
		if err != nil {
			return 0, err
		}
		if seal > 0 {
			return 0, fmt.Errorf("shard %d of %s: %w", shard.Number, shard.Edge, store.ErrSealed)
		}
		m.Header[headerExpect] = []string{"0"}
		m.Header[headerExpectStream] = []string{strconv.FormatUint(last, 10)}
		_, err = s.publish(ctx, stream, m)
		delete(m.Header, headerExpectStream)
		if !errors.Is(err, errMoved) { // else something else was stored meanwhile
			return flow.Stored, err
		}
	}
	return 0, fmt.Errorf("%w: other messages come all the time: %w", store.ErrUnavailable, context.Cause(ctx))
}

// lastSequence is that of the newest message of a stream.
func (s *queues) lastSequence(ctx context.Context, stream string) (uint64, error) {
	var info struct {
		State struct {
			Last uint64 `json:"last_seq"`
		} `json:"state"`
	}
	if err := s.api(ctx, "STREAM.INFO", stream, struct{}{}, &info, false); err != nil {
		return 0, readError(err)
	}
	return info.State.Last, nil
}
