package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/publish"
)

// producer is what a sink needs of a client.
type producer interface {
	ProduceSync(ctx context.Context, records ...*kgo.Record) kgo.ProduceResults
	Close()
}

// Batch is a good publish.Options.Batch: the answers of the brokers are waited for before the next batch.
const Batch = 5000

type sink struct {
	topic string
	p     producer
}

// Send implements publish.Sink.
func (s *sink) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	var out publish.Outcome
	records, samples := make([]*kgo.Record, 0, len(batch)), make([]publish.Sample, 0, len(batch))
	for _, sample := range batch {
		line, err := sample.Line()
		if err != nil {
			out.Refused, out.Err = out.Refused+1, err
			continue
		}
		r := &kgo.Record{Topic: s.topic, Key: []byte(sample.Series()), Value: line}
		if len(sample.Points) > 0 {
			r.Timestamp = time.UnixMilli(sample.Points[0].AtMS)
		}
		records, samples = append(records, r), append(samples, sample)
	}
	failed := map[*kgo.Record]error{}
	for _, r := range s.p.ProduceSync(ctx, records...) { // in the order in which they ended
		if r.Err != nil {
			failed[r.Record] = r.Err
		}
	}
	out.Login = len(records) > 0 && len(failed) == len(records)
	if len(failed) == 0 {
		return out
	}
	again := map[string]bool{} // series whose order would suffer
	for i, r := range records {
		err := failed[r]
		switch {
		case again[string(r.Key)] || err != nil && passing(err):
			again[string(r.Key)] = true
			out.Retry = append(out.Retry, samples[i])
		case err != nil:
			out.Refused++
		}
		if err != nil {
			out.Login = out.Login && login(err)
			out.Err = fmt.Errorf("topic %s: %w", s.topic, reason(ctx, err))
		}
	}
	return out
}

// passing reports whether a record may be taken later: all but what the cluster said about the record or the rights.
func passing(err error) bool {
	var said *kerr.Error
	if !errors.As(err, &said) || said.Retriable {
		return true
	}
	switch said.Code {
	case kerr.OutOfOrderSequenceNumber.Code, kerr.InvalidProducerEpoch.Code, kerr.UnknownProducerID.Code, kerr.InvalidProducerIDMapping.Code, kerr.ProducerFenced.Code:
		return true // the client begins again with a new identity
	}
	return false
}

// login reports whether the cluster refuses who writes.
func login(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.SaslAuthenticationFailed)
}

func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return cause
	}
	return err
}

// closeWithin bounds how long the end waits for requests in flight.
const closeWithin = 300 * time.Millisecond

// Close implements publish.Sink.
func (s *sink) Close() error {
	closed := make(chan struct{})
	go func() {
		s.p.Close()
		close(closed)
	}()
	t := time.NewTimer(closeWithin)
	defer t.Stop()
	select {
	case <-closed:
	case <-t.C:
	}
	return nil
}
