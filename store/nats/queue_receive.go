package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

const headerSegments = "Rota-Segments"

// Receive implements store.Queue. A peek shows everything after the first unacknowledged message, including acknowledged messages there.
func (s *queues) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	all, err := s.receive(ctx, flow, r)
	if err != nil {
		return nil, fmt.Errorf("receive from shard %d of %s in flow %q: %w", r.Shard.Number, r.Shard.Edge, flow, s.gone(ctx, flow, err))
	}
	return all, nil
}

func (s *queues) receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	if err := store.CheckReceive(r); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if err := s.checkShard(ctx, flow, r.Shard); err != nil {
		return nil, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if r.Peek {
		return s.peek(ctx, flow, r)
	}
	if s.readOnly {
		return nil, store.ErrReadOnly
	}
	s.relet(r)
	if r.Limit == 0 {
		return nil, nil
	}
	return s.pull(ctx, flow, r)
}

// relet lengthens leases, and gives back what others may have.
func (s *queues) relet(r store.Receive) {
	var keep []string
	for i := range r.Keep {
		if s.release(r.Keep[i].Receipt) {
			keep = append(keep, r.Keep[i].Receipt)
		}
	}
	s.lease(keep, r.Lease)
	for i := range r.Return {
		if s.release(r.Return[i].Receipt) {
			_ = s.conn.PublishMsg(&nc.Msg{Subject: r.Return[i].Receipt, Data: answerNak}) // what is lost comes back by itself
		}
	}
}

// pull asks the server for messages, once, and takes what it has now.
func (s *queues) pull(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	if !s.line.whole() {
		return nil, sendError(ctx, nc.ErrReconnectBufExceeded, false)
	}
	inbox := nc.NewInbox()
	sub, err := s.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, sendError(ctx, err, false)
	}
	defer func() { _ = sub.Unsubscribe() }()
	data, err := json.Marshal(map[string]any{"batch": r.Limit, "no_wait": true})
	if err != nil {
		return nil, err
	}
	request := &nc.Msg{Subject: "$JS.API.CONSUMER.MSG.NEXT." + s.names.shard(flow, r.Shard) + "." + consumerName, Reply: inbox, Data: data}
	if err := s.conn.PublishMsg(request); err != nil {
		return nil, sendError(ctx, err, false)
	}
	stop := context.AfterFunc(s.line.current(), func() { _ = sub.Unsubscribe() })
	defer stop()
	var all []store.Message
	for len(all) < r.Limit {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return s.received(all, r.Lease, sendError(ctx, err, false))
		}
		if status := m.Header.Get("Status"); status != "" && len(m.Data) == 0 && m.Reply == "" {
			return s.received(all, r.Lease, statusError(status, m.Header.Get("Description")))
		}
		one, err := delivered(r.Shard, m)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return s.received(all, r.Lease, nil)
}

// received keeps what was delivered, also where more was asked for.
func (s *queues) received(all []store.Message, lease time.Duration, err error) ([]store.Message, error) {
	if len(all) == 0 {
		return nil, err
	}
	receipts := make([]string, len(all))
	for i := range all {
		receipts[i] = all[i].Receipt
	}
	s.lease(receipts, lease)
	return all, nil
}

// statusError is what an answer without a message means; nil: there are none.
func statusError(status, description string) error {
	switch status {
	case "404", "408", "409":
		if status != "409" {
			return nil
		}
	case "503":
		return fmt.Errorf("%w: no server serves this shard at the moment", store.ErrUnavailable)
	}
	return fmt.Errorf("%w: the server answers %s %s", store.ErrUnavailable, status, description)
}

func delivered(shard store.Shard, m *nc.Msg) (store.Message, error) {
	meta, err := m.Metadata()
	if err != nil {
		return store.Message{}, fmt.Errorf("read the sequence of a message of %s: %w", shard.Edge, err)
	}
	segments, _ := strconv.Atoi(m.Header.Get(headerSegments)) // 0 where it says none
	return store.Message{
		Shard: shard, Number: meta.Sequence.Stream, Segments: segments, Data: m.Data, Delivered: int(meta.NumDelivered), Receipt: m.Reply, //nolint:gosec // a count
	}, nil
}

func (s *queues) peek(ctx context.Context, flow string, r store.Receive) (all []store.Message, err error) {
	info, err := s.consumer(ctx, flow, r.Shard)
	if err != nil {
		return nil, err
	}
	after := max(r.After, info.AckFloor.Stream)
	for len(all) < r.Limit {
		m, err := s.fetch(ctx, s.names.shard(flow, r.Shard), getRequest{Seq: after + 1, NextBy: s.names.messagesOf(flow, r.Shard)})
		if errors.Is(err, errAbsent) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		segments, _ := strconv.Atoi(m.header.Get(headerSegments)) // 0 where it says none
		all = append(all, store.Message{Shard: r.Shard, Number: m.seq, Segments: segments, Data: m.data})
		after = m.seq
	}
	return all, nil
}
