package nats

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
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

	life context.Context //nolint:containedctx // ends with the handle; its cause is store.ErrClosed
	end  context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // goroutines; Add only with mu held and not closed
}

// enter says why a call must not begin, nil if it may.
func (w *wire) enter(ctx context.Context) error {
	return cmp.Or(context.Cause(w.life), context.Cause(ctx))
}

// hold keeps the connection until release; false where the handle is closed.
func (w *wire) hold() (release func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, false
	}
	w.wg.Add(1)
	return w.wg.Done, true
}

// Close implements driver.Driver.
func (w *wire) Close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	if !first {
		return nil
	}
	w.end(store.ErrClosed)
	w.wg.Wait()
	w.conn.Close()
	w.line.close()
	return nil
}
