package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
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
