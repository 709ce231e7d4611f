package kafka

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var _ kgo.HookBrokerConnect = (*outage)(nil)

// outage tells of brokers that can't be reached, once each time, and remembers why.
type outage struct {
	log     *slog.Logger
	brokers string

	mu   sync.Mutex
	last error // nil while the last attempt was a connection
}

// OnBrokerConnect implements [kgo.HookBrokerConnect].
func (o *outage) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if errors.Is(err, context.Canceled) {
		return // by who has asked
	}
	o.mu.Lock()
	was := o.last
	o.last = err
	o.mu.Unlock()
	switch {
	case err != nil && was == nil:
		o.log.Warn("a broker does not answer; its partitions wait", "host", meta.Host, "port", meta.Port, "cause", err.Error())
	case err == nil && was != nil:
		o.log.Info("brokers answer again", "host", meta.Host, "port", meta.Port)
	}
}

// cause is why the last attempt to connect did not succeed, nil if it did.
func (o *outage) cause() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}
