package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
	inner "github.com/rota-run/rota/store/internal/driver"
)

var _ store.Queue = (*queues)(nil)

// The parts of a flow. Names may have lengths and bytes that stream names cannot have, so streams are named by hashes, and the flow's first stream
// lists the shards.
const (
	consumerName = "workers"
	metaFlow     = "rota-flow"
	metaShards   = "rota-shards"

	// ackWait is how long the server waits for a sign from the holder of a message. Handles send one while the lease of a message lasts.
	ackWait = 15 * time.Second

	makeTogether = 8 // shards
)

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:10])
}

func (n names) records(flow string) string { return "ROTA_" + n.bucket + "_q_" + hashed(flow) }
func (n names) recordsSubjects(flow string) string {
	return "rota." + n.bucket + ".q." + hashed(flow) + ".u.>"
}
func (n names) record(flow, unit string) string {
	return "rota." + n.bucket + ".q." + hashed(flow) + ".u." + unit
}
func (n names) shard(flow string, s store.Shard) string {
	return n.records(flow) + "_" + hashed(s.Edge) + "_" + strconv.Itoa(s.Number)
}
func (n names) shardSubject(flow string, s store.Shard) string {
	return "rota." + n.bucket + ".q." + hashed(flow) + "." + hashed(s.Edge) + "." + strconv.Itoa(s.Number)
}
func (n names) sealOf(flow string, s store.Shard) string { return n.shardSubject(flow, s) + ".seal" }
func (n names) messagesOf(flow string, s store.Shard) string {
	return n.shardSubject(flow, s) + ".m.>"
}

// queueStream is a stream of a flow: it forgets nothing until the flow is dropped.
func (s *queues) queueStream(name, description string, subjects ...string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Description: "Rota: " + description, Subjects: subjects,
		MaxMsgsPerSubject: -1, MaxMsgs: -1, MaxBytes: -1, MaxConsumers: -1, MaxMsgSize: -1,
		Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage, Replicas: s.replicas, AllowRollup: true,
	}
}

// MakeFlow implements store.Queue.
func (s *queues) MakeFlow(ctx context.Context, flow string, shards []store.Shard) (err error) {
	defer inner.Wrap(&err, "make flow %q", flow)
	if err := store.CheckFlow(flow, shards); err != nil {
		return err
	}
	if err := s.enterChange(ctx); err != nil {
		return err
	}
	list, err := json.Marshal(shards)
	if err != nil {
		return err
	}
	done, err := s.queue.turn(ctx, flow)
	if err != nil {
		return err
	}
	defer done()
	records := s.queueStream(s.names.records(flow), "flow "+flow, s.names.recordsSubjects(flow))
	records.Metadata = map[string]string{metaFlow: flow, metaShards: string(list)}
	have, err := s.makeStream(ctx, records)
	if err != nil {
		return flowError(err)
	}
	if have.Metadata[metaShards] != string(list) {
		return fmt.Errorf("it has other shards: %w", store.ErrConflict)
	}
	if s.queue.made(flow, shards) {
		return nil
	}
	if err := s.makeShards(ctx, flow, shards); err != nil {
		return flowError(err)
	}
	s.queue.remember(flow, shards, true)
	return nil
}

// makeShards makes several at a time: each takes the server as long as a few writes.
func (s *queues) makeShards(ctx context.Context, flow string, shards []store.Shard) error {
	errs := make([]error, len(shards))
	var wg sync.WaitGroup
	room := make(chan struct{}, makeTogether)
	for i, shard := range shards {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			errs[i] = s.makeShard(ctx, flow, shard)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *queues) makeShard(ctx context.Context, flow string, shard store.Shard) error {
	name := s.names.shard(flow, shard)
	want := s.queueStream(name, fmt.Sprintf("shard %d of %s in flow %s", shard.Number, shard.Edge, flow), s.names.shardSubject(flow, shard)+".>")
	if _, err := s.makeStream(ctx, want); err != nil {
		return err
	}
	consumer := jetstream.ConsumerConfig{
		Durable: consumerName, FilterSubject: s.names.messagesOf(flow, shard), AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait,
		DeliverPolicy: jetstream.DeliverAllPolicy, MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 4096,
	}
	request := struct {
		Stream string                   `json:"stream_name"`
		Config jetstream.ConsumerConfig `json:"config"`
	}{name, consumer}
	return s.api(ctx, "CONSUMER.DURABLE.CREATE."+name, consumerName, request, nil, true)
}

// flowError gives an error of a call that makes or drops streams its meaning.
func flowError(err error) error {
	var refused *apiError
	if !errors.As(err, &refused) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		return err
	}
	if refused.Code == codeStreamNotFound {
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// DropFlow implements store.Queue.
func (s *queues) DropFlow(ctx context.Context, flow string) (err error) {
	defer inner.Wrap(&err, "drop flow %q", flow)
	if err := s.enterChange(ctx); err != nil {
		return err
	}
	s.queue.forget(flow)
	shards, err := s.readShards(ctx, flow)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	streams := make([]string, 0, len(shards)+1)
	for _, shard := range shards {
		streams = append(streams, s.names.shard(flow, shard))
	}
	for _, name := range append(streams, s.names.records(flow)) { // last what says which there are
		if err := s.api(ctx, "STREAM.DELETE", name, struct{}{}, nil, true); err != nil && !isCode(err, codeStreamNotFound) {
			return flowError(err)
		}
	}
	return nil
}

// readShards asks the server which shards a flow has.
func (s *queues) readShards(ctx context.Context, flow string) ([]store.Shard, error) {
	have, err := s.streamConfig(ctx, s.names.records(flow))
	if err != nil {
		return nil, flowError(err)
	}
	var shards []store.Shard
	if err := json.Unmarshal([]byte(have.Metadata[metaShards]), &shards); err != nil {
		return nil, fmt.Errorf("%w: the stream %s does not say which shards the flow has", ErrDamaged, have.Name)
	}
	return shards, nil
}

// shardsOf is readShards that asks once. A flow that was dropped since is found out by who uses it.
func (s *queues) shardsOf(ctx context.Context, flow string) ([]store.Shard, error) {
	s.queue.mu.Lock()
	known, ok := s.queue.flows[flow]
	s.queue.mu.Unlock()
	if ok {
		return known.shards, nil
	}
	shards, err := s.readShards(ctx, flow)
	if err != nil {
		return nil, err
	}
	s.queue.remember(flow, shards, false)
	return shards, nil
}

// checkShard says whether a flow has a shard.
func (s *queues) checkShard(ctx context.Context, flow string, shard store.Shard) error {
	shards, err := s.shardsOf(ctx, flow)
	if err != nil {
		return err
	}
	if !slices.Contains(shards, shard) {
		return fmt.Errorf("shard %d of %s: %w", shard.Number, shard.Edge, store.ErrNotFound)
	}
	return nil
}

// gone finds out whether a call failed because the flow is not there any more.
func (s *queues) gone(ctx context.Context, flow string, err error) error {
	if err == nil || !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	if _, ask := s.readShards(ctx, flow); errors.Is(ask, store.ErrNotFound) {
		s.queue.forget(flow)
		return ask
	}
	return err
}
