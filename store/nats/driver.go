package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// markerTTL is how long the stream keeps the message that says that a row is gone, for watches.
const markerTTL = "3600s"

// keysAtOnce is how many newest messages the server tells at once.
const keysAtOnce = 1024

// bucket is the driver of package engine: one handle on a bucket. A row is the newest message of its subject, and the
// sequence of that is its version.
type bucket struct {
	*wire
	head inner.Head // of the log
}

// Limits implements driver.Driver. Any replica answers a list, so it may be stale.
func (b *bucket) Limits() driver.Limits {
	most := b.most() + 1
	return driver.Limits{
		Value: most, Swap: most + headerRoom, Keys: 1, Range: driver.Late, Page: batchLimit, Batch: 1,
	}
}

// Read implements driver.Documents: one key after the other, each at the stream's leader. Stale: any replica.
func (b *bucket) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	if err := b.enter(ctx); err != nil {
		return rows, err
	}
	if q.From != "" {
		if rows.Range, rows.More, err = b.list(ctx, q); err != nil {
			return rows, err
		}
	}
	if q.Stale && len(q.Keys) > 0 && len(q.Keys) <= keysAtOnce {
		rows.Keys, err = b.anywhere(ctx, q.Keys)
		return rows, err
	}
	for _, key := range q.Keys {
		m, err := b.current(ctx, b.names.row(key))
		if err != nil {
			return rows, err
		}
		rows.Keys = append(rows.Keys, m.row(key))
	}
	return rows, nil
}

// Swap implements driver.Documents. With replicas, a refusal is looked up before it is believed.
func (b *bucket) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if len(with) > 0 {
		return "", fmt.Errorf("%q: one row at a time: %w", op.Key, store.ErrTooLarge)
	}
	at, known := sequence(op.If)
	if !known {
		return "", &driver.Conflict{}
	}
	seq, err := b.write(ctx, op, at, nc.Header{})
	switch {
	case err != nil:
		return "", err
	case op.Delete:
		return "", nil
	}
	return versionOf(seq), nil
}

// write writes a row whose newest message has the sequence at, if its version is op.If.
func (b *bucket) write(ctx context.Context, op driver.Op, at uint64, h nc.Header) (seq uint64, err error) {
	if len(op.Value) > b.Limits().Value {
		return 0, fmt.Errorf("%q: %d bytes, at most %d (the server's max_payload): %w",
			op.Key, len(op.Value), b.most(), store.ErrTooLarge)
	}
	if err := b.enter(ctx); err != nil {
		return 0, err
	}
	h[headerName] = []string{op.Name}
	switch {
	case op.Delete:
		h[headerOperation], h[headerTTL], op.Value = []string{"PURGE"}, []string{markerTTL}, nil
	case op.Once:
		h[headerOnce] = []string{"1"}
	}
	ctx, cancel := b.bound(ctx)
	defer cancel()
	subject := b.names.row(op.Key)
	for {
		seq, err := b.swap(ctx, subject, at, h, op.Value)
		if !errors.Is(err, errMoved) {
			return seq, err
		}
		m, failed := b.current(ctx, subject)
		if failed != nil {
			return 0, inner.NotDone(failed)
		}
		row := m.row(op.Key)
		if row.Version != op.If {
			return 0, &driver.Conflict{Row: &row}
		}
		at = m.seq // of a marker, or of a repeated write
	}
}

// Free implements driver.Documents: nothing stays, not even a marker.
func (b *bucket) Free(ctx context.Context, keys []string) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	room := make(chan struct{}, inFlight)
	for i, key := range keys {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			errs[i] = b.purge(ctx, b.names.docs(), purgeRequest{Filter: b.names.row(key)})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Watch implements driver.Documents, with a consumer on the rows' stream. Changes by the server, such as the end of a
// lease's row, send a hint too.
func (b *bucket) Watch(ctx context.Context, prefix string, hint func()) error {
	return b.watch(ctx, b.names.docs(), b.names.below(prefix), hint)
}

// row is what a message says of a key.
func (m message) row(key string) driver.Row {
	if m.marker() {
		return driver.Row{Key: key}
	}
	return driver.Row{Key: key, Name: m.header.Get(headerName), Value: m.data, Version: m.version()}
}
