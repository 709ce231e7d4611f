package pubsub

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/publish"
)

// publisher is what a sink needs of a client.
type publisher interface {
	Publish(ctx context.Context, req *pubsubpb.PublishRequest, opts ...gax.CallOption) (*pubsubpb.PublishResponse,
		error)
	Close() error
}

type sink struct {
	topic    string // in full
	ordering bool
	p        publisher
}

// The bounds of a request and of a part of a message; Pub/Sub takes 10 MB and 1000 messages, and 1024 bytes.
const (
	mostBytes    = 9 << 20
	mostMessages = 1000
	mostText     = 1024
)

// Send implements publish.Sink.
func (s *sink) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	out := publish.Outcome{Login: true}
	for len(batch) > 0 {
		r, rest := s.request(batch, &out)
		if len(r.messages) == 0 {
			return out
		}
		_, err := s.p.Publish(ctx, &pubsubpb.PublishRequest{Topic: s.topic, Messages: r.messages}, gax.WithRetry(nil))
		switch {
		case err == nil:
		case passing(err):
			out.Retry, out.Err = append(r.samples, rest...), s.fault(ctx, err)
			return out
		default:
			out.Refused, out.Err, out.Login = out.Refused+len(r.samples), s.fault(ctx, err), out.Login && login(err)
		}
		batch = rest
	}
	return out
}

// request is what goes into one request.
type request struct {
	samples  []publish.Sample
	messages []*pubsubpb.PubsubMessage
}

// request makes a request of the first samples; what no message can hold is refused.
func (s *sink) request(batch []publish.Sample, out *publish.Outcome) (r request, rest []publish.Sample) {
	size := 0
	for i, sample := range batch {
		m, err := s.message(sample)
		if err != nil {
			out.Login = false
			out.Refused, out.Err = out.Refused+1, fmt.Errorf("sample %.100q: %w", sample.Name, err)
			continue
		}
		size += len(m.Data) + len(m.OrderingKey) + len(sample.Name) + 100
		if len(r.messages) == mostMessages || size > mostBytes && len(r.messages) > 0 {
			return r, batch[i:]
		}
		r.samples, r.messages = append(r.samples, sample), append(r.messages, m)
	}
	return r, nil
}

func (s *sink) message(sample publish.Sample) (*pubsubpb.PubsubMessage, error) {
	line, err := sample.Line()
	if err != nil {
		return nil, err
	}
	m := &pubsubpb.PubsubMessage{Data: line}
	if sample.Name != "" && len(sample.Name) <= mostText {
		m.Attributes = map[string]string{"name": sample.Name}
	}
	if s.ordering {
		m.OrderingKey = sample.Series()
	}
	switch {
	case len(m.OrderingKey) > mostText:
		return nil, fmt.Errorf("its series has %d bytes; an ordering key has at most %d", len(m.OrderingKey), mostText)
	case len(line) > mostBytes:
		return nil, fmt.Errorf("it has %d bytes; a message has at most %d", len(line), mostBytes)
	}
	return m, nil
}

// passing reports whether the same request may be taken later.
func passing(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented,
		codes.FailedPrecondition, codes.OutOfRange, codes.AlreadyExists:
		return false
	}
	return true
}

// login reports whether Pub/Sub refuses who publishes.
func login(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}

func (s *sink) fault(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil &&
		(errors.Is(err, ctx.Err()) || status.Code(err) == codes.DeadlineExceeded) {
		err = cause
	}
	return fmt.Errorf("topic %s: %w", s.topic, err)
}

// Close implements publish.Sink.
func (s *sink) Close() error {
	if err := s.p.Close(); err != nil {
		return fmt.Errorf("close the connection to Pub/Sub: %w", err)
	}
	return nil
}
