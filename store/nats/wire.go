package nats

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store/internal/driver"
)

// wire is a connection to the server, and what it is used for.
type wire struct {
	conn     *nc.Conn
	js       jetstream.JetStream
	line     *line
	names    names
	replicas int  // of the streams, as they are
	readOnly bool // the user may not write: what is read is not confirmed
	timeout  time.Duration
	log      *slog.Logger

	life *driver.Life
}

// enter says why a call must not begin, nil if it may.
func (w *wire) enter(ctx context.Context) error {
	return cmp.Or(context.Cause(w.life.Ctx), context.Cause(ctx))
}

// Close implements driver.Driver.
func (w *wire) Close() error {
	if !w.life.Close() {
		return nil
	}
	w.life.End()
	w.conn.Close()
	w.line.close()
	return nil
}
