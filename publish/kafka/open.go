package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/rota-run/rota/publish"
)

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

// deliverWithin bounds a request. There is no limit for a record: the client counts it from the record's timestamp, which is when a sample was measured, so that one that had
// waited for a broker would never be sent. The ctx of Send bounds an attempt.
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
		kgo.SeedBrokers(o.Brokers...), kgo.ClientID("rota"), kgo.DisableClientMetrics(), kgo.MetadataMinAge(200 * time.Millisecond),
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
