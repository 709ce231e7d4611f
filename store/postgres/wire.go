package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// closePatience is how long Close waits for the server to forget the handle.
const closePatience = 2 * time.Second

// wire is the connections of one handle, and what it knows of its vigils.
type wire struct {
	options Options
	log     *slog.Logger
	layout  layout
	owner   int64 // number of the handle, and of its lock
	workers *pool
	hub     *hub
	line    *line
	judge   *judge

	life context.Context //nolint:containedctx // ends with the handle; its cause is store.ErrClosed
	end  context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // goroutines; Add only with mu held and not closed
	vigils map[int64]*vigil
}

// newWire makes a handle that has no connection yet.
func newWire(o Options) *wire {
	w := &wire{
		options: o, log: o.Logger.With("store", o.place()), layout: newLayout(o.Schema), owner: newID(), hub: newHub(),
		vigils: map[int64]*vigil{},
	}
	w.life, w.end = context.WithCancelCause(context.Background())
	w.workers = newPool(w, o.Connections-lineConnections)
	w.line, w.judge = newLine(w), &judge{w: w}
	return w
}

// newID is a number by chance, so that nobody has it before or after.
func newID() int64 {
	b := make([]byte, 8)
	rand.Read(b)                                  // never fails
	return int64(binary.BigEndian.Uint64(b) >> 1) //nolint:gosec // not negative
}

// enter begins a call, or says why it must not begin. The context that it returns also ends with the handle; the caller
// calls leave.
func (w *wire) enter(ctx context.Context) (calling context.Context, leave func(), err error) {
	if err := cmp.Or(context.Cause(w.life), context.Cause(ctx)); err != nil {
		return nil, nil, err
	}
	calling, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.life, func() { cancel(store.ErrClosed) })
	return calling, func() {
		stop()
		cancel(nil)
	}, nil
}

// begin runs f on a goroutine that Close waits for, unless the handle is closed.
func (w *wire) begin(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.inside.Go(f)
	return true
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
	w.forget()
	w.end(store.ErrClosed)
	w.inside.Wait()
	w.workers.close()
	return nil
}

// forget tells the server that the end of the connection says nothing about the process. Others find out, else.
func (w *wire) forget() {
	if !w.line.tied.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if _, err := w.change(ctx, sqlUntie, w.owner); err != nil {
		w.log.Debug("forget a handle; others will", "err", err)
	}
}
