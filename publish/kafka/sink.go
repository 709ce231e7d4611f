package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

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
	case kerr.OutOfOrderSequenceNumber.Code, kerr.InvalidProducerEpoch.Code, kerr.UnknownProducerID.Code,
		kerr.InvalidProducerIDMapping.Code, kerr.ProducerFenced.Code:
		return true // the client begins again with a new identity
	}
	return false
}

// login reports whether the cluster refuses who writes.
func login(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed) ||
		errors.Is(err, kerr.SaslAuthenticationFailed)
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

// Options say where samples go.
type Options struct {
	Brokers   []string // some of the cluster's, host:port; default 127.0.0.1:9092
	Topic     string
	User      string // by SASL
	Password  string
	Mechanism string      // of SASL: plain, scram-sha-256 or scram-sha-512 (default)
	TLS       *tls.Config // nil: no encryption
}

// DefaultBroker is where a broker is on one's own machine.
const DefaultBroker = "127.0.0.1:9092"

var topicName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

// deliverWithin bounds a request. There is no limit for a record: the client counts it from the record's timestamp,
// which is when a sample was measured, so that one that had waited for a broker would never be sent. The ctx of Send
// bounds an attempt.
const deliverWithin = 10 * time.Second

// New returns a sink; nothing is connected yet.
func New(o Options) (publish.Sink, error) {
	if !topicName.MatchString(o.Topic) || o.Topic == "." || o.Topic == ".." {
		return nil, fmt.Errorf("kafka: topic %q: give 1 to 249 letters, digits, . _ and -", o.Topic)
	}
	if (o.User == "") != (o.Password == "") {
		return nil, errors.New("kafka: a user without a password, or the other way round: give both or none")
	}
	if len(o.Brokers) == 0 {
		o.Brokers = []string{DefaultBroker}
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...), kgo.ClientID("rota"), kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(200 * time.Millisecond),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0), kgo.ProduceRequestTimeout(deliverWithin),
		kgo.RetryTimeout(deliverWithin), kgo.UnknownTopicRetries(1), kgo.AllowIdempotentProduceCancellation(),
	}
	if o.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(o.TLS))
	}
	if o.User != "" {
		m, err := mechanism(o)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return &sink{o.Topic, c}, nil
}

func mechanism(o Options) (sasl.Mechanism, error) {
	switch o.Mechanism {
	case "plain":
		return plain.Auth{User: o.User, Pass: o.Password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha256Mechanism(), nil
	case "", "scram-sha-512":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("kafka: mechanism %q: give plain, scram-sha-256 or scram-sha-512", o.Mechanism)
}
