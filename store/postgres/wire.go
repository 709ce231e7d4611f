package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync"
	"time"

	inner "github.com/rota-run/rota/store/internal/driver"
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
	life    *inner.Life

	mu     sync.Mutex
	vigils map[int64]*vigil
}

// newWire makes a handle that has no connection yet.
func newWire(o Options) *wire {
	w := &wire{
		options: o, log: o.Logger.With("store", o.place()), layout: newLayout(o.Schema), owner: newID(), hub: newHub(), life: inner.NewLife(),
		vigils: map[int64]*vigil{},
	}
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

// Close implements driver.Driver.
func (w *wire) Close() error {
	if !w.life.Close() {
		return nil
	}
	w.forget()
	w.life.End()
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
