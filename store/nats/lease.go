package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// lease is rows that the server removes by its own clock unless they are written again. A row that was only repeated
// keeps the version of the write that made it.
type lease struct {
	b     *bucket
	id    string
	ttl   time.Duration
	began time.Time
	limit string // of a message, as the server takes it

	turn    chan struct{} // room 1: its holder may use what follows, and talk to the server
	rows    map[string]owned
	renewed time.Time
	over    bool
}

// owned is a row of a lease.
type owned struct {
	seq   uint64     // of its newest write; 0: an answer was lost
	row   driver.Row // of the write that made it
	doubt bool       // whether the newest write was done is not known
}

var (
	_ driver.Leaser   = (*bucket)(nil)
	_ driver.RowLease = (*lease)(nil)
)

// Lease implements driver.Leaser. Nothing is sent: a lease exists once it has a row. The server counts in whole
// seconds: rows vanish after the ttl, rounded up to a second, a second later with replicas, and then within about a
// second.
func (b *bucket) Lease(ctx context.Context, ttl time.Duration) (driver.Lease, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	return &lease{
		b: b, id: b.newID(), ttl: ttl, began: now, limit: limit(ttl, b.replicas),
		turn: make(chan struct{}, 1), rows: map[string]owned{}, renewed: now,
	}, nil
}

// limit is the time after which the server removes a message, never less than ttl. Replicas take over with clocks of
// their own: a second more is for what these differ by.
func limit(ttl time.Duration, replicas int) string {
	seconds := int64((ttl + time.Second - 1) / time.Second)
	if replicas > 1 {
		seconds++
	}
	return strconv.FormatInt(seconds, 10) + "s"
}

// TTL implements driver.Lease.
func (l *lease) TTL() time.Duration { return l.ttl }

// Began implements driver.Lease.
func (l *lease) Began() time.Time { return l.began }

// Close implements driver.Lease.
func (l *lease) Close() {}

// take waits for the turn.
func (l *lease) take(ctx context.Context) error {
	if err := l.b.enter(ctx); err != nil {
		return err
	}
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *lease) give() { <-l.turn }

// Renewed implements driver.RowLease.
func (l *lease) Renewed() time.Time {
	l.turn <- struct{}{}
	defer l.give()
	return l.renewed
}

// header is that of a row of the lease; repeats is the version that the write repeats, "" for none.
func (l *lease) header(repeats driver.Version) nc.Header {
	h := nc.Header{headerTTL: {l.limit}, headerSession: {l.id}}
	if repeats != "" {
		h[headerVersion] = []string{string(repeats)}
	}
	return h
}

// Renew implements driver.Lease.
func (l *lease) Renew(ctx context.Context) (asked time.Time, err error) {
	if err := l.take(ctx); err != nil {
		return asked, err
	}
	defer l.give()
	asked = time.Now()
	if err := l.repeat(ctx, ""); err != nil {
		return asked, err
	}
	l.renewed = asked
	return asked, nil
}

// Swap implements driver.Lease. It writes the lease's other rows again first, and then this one: so an acknowledged
// Swap renews all.
func (l *lease) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	if err := l.take(ctx); err != nil {
		return "", err
	}
	defer l.give()
	asked := time.Now()
	if err := l.repeat(ctx, op.Key); err != nil {
		return "", err
	}
	at, known := sequence(op.If)
	have, ours := l.rows[op.Key]
	switch {
	case !known:
		return "", &driver.Conflict{}
	case ours && have.row.Version == op.If && !have.doubt:
		at = have.seq
	}
	seq, err := l.b.write(ctx, op, at, l.header(""))
	switch {
	case errors.Is(err, store.ErrUnknown):
		have.doubt = true
		l.rows[op.Key] = have
		return "", err
	case err != nil:
		return "", err
	}
	v := versionOf(seq)
	row := driver.Row{Key: op.Key, Name: op.Name, Value: slices.Clone(op.Value), Version: v}
	l.rows[op.Key], l.renewed = owned{seq: seq, row: row}, asked
	return v, nil
}

// repeat writes all rows again but one. One that somebody has deleted, or taken over, is no longer the lease's. An
// error says that a row could not be renewed, ErrSession that one has expired; readers see no change.
func (l *lease) repeat(ctx context.Context, but string) error {
	if l.over {
		return store.ErrSession
	}
	for _, key := range slices.Sorted(maps.Keys(l.rows)) {
		if key == but {
			continue
		}
		if err := l.repeatOne(ctx, key); err != nil {
			return inner.NotDone(err)
		}
	}
	return nil
}

func (l *lease) repeatOne(ctx context.Context, key string) error {
	subject := l.b.names.row(key)
	for {
		if d := l.rows[key]; !d.doubt {
			h := l.header(d.row.Version)
			h[headerName] = []string{d.row.Name}
			seq, err := l.b.swap(ctx, subject, d.seq, h, d.row.Value)
			if err == nil {
				d.seq = seq
				l.rows[key] = d
				return nil
			}
			if !errors.Is(err, errMoved) {
				return err
			}
		}
		m, err := l.b.current(ctx, subject)
		switch {
		case err != nil:
			return err
		case m.expired():
			l.over = true
			return store.ErrSession
		case m.marker() || m.header.Get(headerSession) != l.id:
			delete(l.rows, key)
			return nil
		}
		l.rows[key] = owned{seq: m.seq, row: m.row(key)} // a write of ours whose answer was lost
	}
}

// End implements driver.Lease: it removes the rows.
func (l *lease) End(ctx context.Context) error {
	if err := l.take(ctx); err != nil {
		return err
	}
	defer l.give()
	l.over = true
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(l.rows)) {
		if err := l.b.endRow(ctx, l.id, key, l.rows[key].seq); err != nil {
			errs = append(errs, fmt.Errorf("remove %q: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

// endRow deletes a row while it is a lease's; seq is its newest write that is known, 0 for none.
func (b *bucket) endRow(ctx context.Context, lease, key string, seq uint64) error {
	subject := b.names.row(key)
	for {
		if seq > 0 {
			h := nc.Header{headerOperation: {"PURGE"}, headerTTL: {markerTTL}}
			if _, err := b.swap(ctx, subject, seq, h, nil); !errors.Is(err, errMoved) {
				return err
			}
		}
		m, err := b.current(ctx, subject)
		if err != nil || m.marker() || m.header.Get(headerSession) != lease {
			return err
		}
		seq = m.seq
	}
}

// leaseKey is what names a lease: the server knows its rows alone.
type leaseKey struct {
	Lease string   `json:"lease"`
	Rows  []string `json:"rows"`
}

// Key implements driver.Lease.
func (l *lease) Key() string {
	l.turn <- struct{}{}
	defer l.give()
	return l.KeyOf(slices.Sorted(maps.Keys(l.rows))...)
}

// KeyOf implements driver.RowLease. Each row of the lease has its id, and no other one has it.
func (l *lease) KeyOf(keys ...string) string {
	b, err := json.Marshal(leaseKey{l.id, keys})
	if err != nil {
		return "" // strings can be encoded
	}
	return string(b)
}

// EndLease implements driver.Leaser: it deletes the lease's rows, each by its sequence and only while it belongs to the
// lease. A write of the owner that arrives later names an outdated sequence, and is refused.
func (b *bucket) EndLease(ctx context.Context, key string) error {
	var k leaseKey
	if err := json.Unmarshal([]byte(key), &k); err != nil || k.Lease == "" {
		return errors.New("the key is not that of a session of NATS")
	}
	if err := b.enter(ctx); err != nil {
		return err
	}
	var errs []error
	for _, key := range k.Rows {
		if err := b.endRow(ctx, k.Lease, key, 0); err != nil {
			errs = append(errs, fmt.Errorf("remove %q: %w", key, err))
		}
	}
	return errors.Join(errs...)
}
