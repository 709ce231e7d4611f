package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/log"
	"github.com/rota-run/rota/store/internal/remote"
)

// newClient makes a client, which connects when it is used. Requests are tried again by the store, which knows what
// that means, and so not by the client.
func (o Options) newClient() (*kgo.Client, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...), kgo.ClientID("rota"), kgo.Dialer(o.dial), kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.RetryBackoffFn(backoff), kgo.RetryTimeout(o.Timeout),
		kgo.RequestTimeoutOverhead(max(o.Timeout/2, 100*time.Millisecond)),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.BrokerMaxWriteBytes(100 << 20), kgo.BrokerMaxReadBytes(200 << 20),
	}
	if o.User != "" {
		opts = append(opts, kgo.SASL(o.mechanism()))
	}
	return kgo.NewClient(opts...)
}

func backoff(tries int) time.Duration {
	return min(time.Duration(tries)*50*time.Millisecond, 500*time.Millisecond)
}

func (o Options) mechanism() sasl.Mechanism {
	switch o.Mechanism {
	case "plain":
		return plain.Auth{User: o.User, Pass: o.Password}.AsMechanism()
	case "scram-sha-256":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha256Mechanism()
	}
	return scram.Auth{User: o.User, Pass: o.Password}.AsSha512Mechanism()
}

func (o Options) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := o.Dial(ctx, network, addr)
	if err != nil || o.TLS == nil {
		return conn, err
	}
	c := o.TLS.Clone()
	if c.ServerName == "" {
		c.ServerName, _, _ = net.SplitHostPort(addr) // an address without a port is refused before
	}
	secure := tls.Client(conn, c)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%w: %w", errHandshake, err)
	}
	return secure, nil
}

// request sends a request to any broker, or to the one that it is for. The answer comes, or ctx ends: a request in
// flight is not waited for.
func request[R kmsg.Response](ctx context.Context, c *kgo.Client, req kmsg.Request) (R, error) {
	r, err := c.Request(ctx, req)
	return answered[R](ctx, r, err)
}

func requestAt[R kmsg.Response](ctx context.Context, b *kgo.Broker, req kmsg.Request) (R, error) {
	r, err := b.Request(ctx, req)
	return answered[R](ctx, r, err)
}

func answered[R kmsg.Response](ctx context.Context, r kmsg.Response, err error) (R, error) {
	var none R
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return none, err
	}
	out, ok := r.(R)
	if !ok {
		return none, fmt.Errorf("the answer is a %T", r)
	}
	return out, nil
}

var (
	errTimeout   = errors.New("no answer within the store's timeout")
	errHandshake = errors.New("TLS handshake")
	// errMoved says that a broker does not lead the partition; nothing was done.
	errMoved = errors.New("another broker leads the partition")
	// errAway says that a read asked for records that are trimmed, or not there yet.
	errAway = errors.New("offset out of range")
)

// ErrDamaged marks a store whose topics another program deleted, created again or changed. Retrying does not help.
var ErrDamaged = log.ErrDamaged

// topicError gives a broker's answer about a topic its meaning.
func topicError(topic string, code int16) error {
	err := kerr.ErrorForCode(code)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID),
		errors.Is(err, kerr.InconsistentTopicID):
		return fmt.Errorf("topic %s is gone, or was made again: %w: %w", topic, ErrDamaged, err)
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Errorf("%w: the user may not do this to topic %s: %w: try %s", store.ErrUnavailable, topic, err,
			aclCommand("topic", topic))
	case errors.Is(err, kerr.OffsetOutOfRange):
		return errAway
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	case errors.Is(err, kerr.NotLeaderForPartition), errors.Is(err, kerr.LeaderNotAvailable),
		errors.Is(err, kerr.FencedLeaderEpoch),
		errors.Is(err, kerr.UnknownLeaderEpoch), errors.Is(err, kerr.OffsetNotAvailable),
		errors.Is(err, kerr.ReplicaNotAvailable),
		errors.Is(err, kerr.KafkaStorageError):
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	return fmt.Errorf("%w: topic %s: %w", store.ErrUnavailable, topic, err)
}

// aclCommand is what an administrator runs to let a user in.
func aclCommand(kind, name string) string {
	return fmt.Sprintf("`kafka-acls.sh --bootstrap-server HOST:PORT --add --allow-principal User:NAME --operation All --resource-pattern-type prefixed --%s %s`", kind, name)
}

// readError gives the failure of a call that changes nothing its meaning.
func readError(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrUnavailable) ||
		errors.Is(err, store.ErrTruncated) || errors.Is(err, store.ErrClosed) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errTimeout) && errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, hinted(err))
}

// changeError gives the failure of a call that was sent and may have changed something its meaning.
func changeError(err error) error {
	switch {
	case err == nil, errors.Is(err, store.ErrUnknown):
		return err
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, hinted(err))
}

// hinted adds what to try to an error that a user can do something about.
func hinted(err error) error {
	var op *net.OpError
	certificate := remote.CertificateHint(err)
	switch {
	case certificate != "":
		return fmt.Errorf("%w: %s", err, certificate)
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.IllegalSaslState):
		return fmt.Errorf("%w: the brokers refuse the user or the password: try another, or another mechanism", err)
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Errorf("%w: try another mechanism: plain, scram-sha-256 or scram-sha-512", err)
	case errors.Is(err, errHandshake):
		return fmt.Errorf("%w: try without TLS, or with the ca of the brokers' certificate", err)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("no broker answers: is Kafka running there?: %w", err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the brokers closed the connection: do they want TLS, or a user and a password?", err)
	}
	return err
}
