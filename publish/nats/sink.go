package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/publish"
)

// stream is what a sink needs of JetStream.
type stream interface {
	PublishMsgAsync(msg *nc.Msg, opts ...jetstream.PublishOpt) (jetstream.PubAckFuture, error)
}

// link is a connection.
type link interface {
	stream() (stream, error) // connects where that is needed
	close()
}

type sink struct {
	subject string
	l       link
}

// Send implements publish.Sink.
func (s *sink) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	js, err := s.l.stream()
	if err != nil {
		return publish.RetryAll(batch, 0, err)
	}
	acks := make([]jetstream.PubAckFuture, 0, len(batch)) // nil for what was refused
	var out publish.Outcome
	for i, sample := range batch {
		ack, err := s.publish(js, sample)
		if err != nil {
			out.Err = s.fault(err)
		}
		if err != nil && passing(err) {
			out.Retry = batch[i:]
			break
		}
		acks = append(acks, ack)
	}
	return s.await(ctx, batch, acks, out)
}

// await waits for the acknowledgements, in order: from the first sample on whose fate is open all are sent again.
func (s *sink) await(ctx context.Context, batch []publish.Sample, acks []jetstream.PubAckFuture, out publish.Outcome) publish.Outcome {
	refused := 0
	for i, ack := range acks {
		if ack == nil {
			refused++
			continue
		}
		var err error
		select {
		case <-ack.Ok():
			continue
		case err = <-ack.Err():
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		out.Err = s.fault(err)
		if passing(err) {
			return publish.Outcome{Refused: refused, Retry: batch[i:], Err: out.Err}
		}
		refused++
	}
	out.Refused = refused
	return out
}

func (s *sink) publish(js stream, sample publish.Sample) (jetstream.PubAckFuture, error) {
	line, err := sample.Line()
	if err != nil {
		return nil, &permanentError{err}
	}
	sum := sha256.Sum256(line)
	m := nc.NewMsg(s.subject)
	m.Data = line
	m.Header.Set(nc.MsgIdHdr, hex.EncodeToString(sum[:16]))
	return js.PublishMsgAsync(m)
}

func (s *sink) fault(err error) error { return fmt.Errorf("subject %s: %w", s.subject, err) }

// permanentError is of a sample that cannot be written.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// passing reports whether a message may be taken later.
func passing(err error) bool {
	var said *jetstream.APIError
	var permanent *permanentError
	switch {
	case errors.As(err, &permanent), errors.Is(err, nc.ErrMaxPayload), errors.Is(err, nc.ErrBadSubject):
		return false
	case errors.As(err, &said):
		return said.Code != http.StatusBadRequest
	}
	return true
}

// Close implements publish.Sink.
func (s *sink) Close() error {
	s.l.close()
	return nil
}
