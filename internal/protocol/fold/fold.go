// Package fold reads the log of a place, entry by entry, and applies it to a value. Members, clients and read-only
// commands share it.
//
// # Purpose
//
// Protocols with a log differ in who appends and in what, not in how the log is read and written. [Ledger] is the pure
// part of a member: it has the value, decides what is read and appended next, and handles the answers. [Reader] is a
// member that knows the whole value by it. The functions read as an observer, without being a member. [Client] appends
// commands as one.
//
// # State
//
// A Ledger has the value, the outbox, the calls in flight, the recent history and the snapshot that is due. An
// observer's value is the caller's, who passes it in again to continue.
//
// # Guarantees
//
//   - An observer writes nothing, and returns the value at the head of the log, as of a moment after the call began.
//   - Trimmed entries are skipped through the snapshot that replaces them.
//   - A Ledger applies each entry once, in the order of the log, and halts where the log is not the one that it has
//     read before.
//   - An entry may name another history than that of the member: then one of the two differs from the log, and the
//     store is asked, once for each rest. A member with the history of the log goes on, whatever an entry says;
//     another one learns it by the first answer.
//
// # What is not guaranteed
//
// The cluster may have decided more since. An observer does not notice a rewritten log, and a member
// not before an entry shows it, whose base is not older than what is kept.
//
// # Failures
//
// The error is that of the store, a *cluster.FormatError for a log that a newer Rota has written, or reports that a
// snapshot is missing.
package fold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Observe folds the log from v (the zero value at first) to its head and returns the value there. It begins with the
// snapshot, if there is one. It writes nothing.
func Observe(ctx context.Context, l store.Log, v cluster.Value) (cluster.Value, error) {
	if v.Index() == 0 {
		if err := loadSnapshot(ctx, l, &v); err != nil && !errors.Is(err, store.ErrNotFound) {
			return v, err
		}
	}
	err := Log(ctx, l, &v, func(protocol.Applied) bool { return true })
	return v, err
}

// shorter is why a log is not the one that was read before.
const shorter = "the log is shorter than what was read from it before"

// Log applies the entries of the log to the value until its head or until yield returns false.
func Log(ctx context.Context, l store.Log, v *cluster.Value, yield func(protocol.Applied) bool) error {
	for {
		page, err := l.Read(ctx, uint64(v.Index()), shell.ReadLimit)
		if errors.Is(err, store.ErrTruncated) {
			if err := loadSnapshot(ctx, l, v); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if page.Head < uint64(v.Index()) {
			return &protocol.DivergedError{Index: v.Index(), Reason: shorter}
		}
		for _, rec := range page.Records {
			a, cost, err := applyRecord(v, rec)
			if err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
			if cost > 0 && !yield(a) {
				return nil
			}
		}
		if len(page.Records) == 0 || uint64(v.Index()) >= page.Head {
			return nil
		}
	}
}

func loadSnapshot(ctx context.Context, l store.Log, v *cluster.Value) error {
	rec, err := l.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	next, err := cluster.DecodeSnapshot(rec.Data)
	if err != nil {
		return fmt.Errorf("read the snapshot at %d: %w", rec.Index, err)
	}
	if next.Index() <= v.Index() {
		return fmt.Errorf("read the log: entries after %s are trimmed and the snapshot is at %s", v.Index(),
			next.Index())
	}
	*v = next
	return nil
}

// Opener finds the log of a protocol in a store. Its zero value must work.
type Opener interface {
	Log(protocol.Store) (store.Log, error)
}

// Observer gives a protocol with a log its Fits, Observe, History and Oldest: they implement protocol.Protocol and
// protocol.Historian.
type Observer[O Opener] struct{}

func (Observer[O]) log(s protocol.Store) (store.Log, error) {
	var o O
	return o.Log(s)
}

// Fits returns why the store cannot be one of the protocol; nil if it can.
func (o Observer[O]) Fits(s protocol.Store) error {
	_, err := o.log(s)
	return err
}

// Observe folds the log to its head.
func (o Observer[O]) Observe(ctx context.Context, s protocol.Store, v cluster.Value) (cluster.Value, error) {
	log, err := o.log(s)
	if err != nil {
		return v, err
	}
	return Observe(ctx, log, v)
}

// History yields the applied entries after an index, as far as the log keeps them, each with the resulting value.
func (o Observer[O]) History(ctx context.Context, s protocol.Store, after cluster.Index,
	yield func(cluster.Value, protocol.Applied) bool) error {
	log, err := o.log(s)
	if err != nil {
		return err
	}
	var v cluster.Value
	return Log(ctx, log, &v, func(a protocol.Applied) bool { return a.Entry.Index <= after || yield(v, a) })
}

// Oldest is the value that the oldest entry which can be applied follows: that of the snapshot where entries were
// trimmed, else the empty one.
func (o Observer[O]) Oldest(ctx context.Context, s protocol.Store) (v cluster.Value, err error) {
	log, err := o.log(s)
	if err != nil {
		return v, err
	}
	_, err = log.Read(ctx, 0, 1)
	switch {
	case errors.Is(err, store.ErrTruncated):
		return v, loadSnapshot(ctx, log, &v)
	case err != nil:
		return v, fmt.Errorf("read the log: %w", err)
	}
	return v, nil
}

// Full returns the store as one with a log, for the protocol that needs it.
func Full(s protocol.Store, name string) (store.Full, error) {
	if full, ok := s.(store.Full); ok {
		return full, nil
	}
	return nil, fmt.Errorf("the protocol %s needs a store with a log: every store of this module has one", name)
}

// Client appends commands without being a member. One goroutine at a time.
type Client struct {
	// Log is read; what Encode returns is appended to it.
	Log    store.Log
	Encode func(cluster.Value, cluster.Entry) ([]byte, error)
	// First returns commands that an entry must begin with; nil for none.
	First func(cluster.Value) []cluster.Command

	writer cluster.WriterID
	seq    uint64
	value  cluster.Value
}

// Propose appends commands and returns their results once they are in the log and applied to the client's own replica
// of the value.
func (c *Client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	if c.writer == "" {
		c.writer = cluster.WriterID("client-" + shell.Nonce())
	}
	var err error
	if c.value, err = Observe(ctx, c.Log, c.value); err != nil {
		return nil, err
	}
	var first []cluster.Command
	if c.First != nil {
		first = c.First(c.value)
	}
	c.seq++
	data, err := c.Encode(c.value, cluster.Entry{
		Writer: c.writer, Seq: c.seq, AtMS: time.Now().UnixMilli(),
		BaseIndex: c.value.Index(), BaseChain: c.value.Chain(), Commands: append(first, commands...),
	})
	if err != nil {
		return nil, fmt.Errorf("propose: %w", err)
	}
	results, err := c.append(ctx, data)
	if err != nil {
		return nil, err
	}
	return results[len(first):], nil
}

// append appends an entry until it is in the log. That is harmless: the value drops duplicates.
func (c *Client) append(ctx context.Context, data []byte) ([]cluster.Result, error) {
	for acks := 0; ; {
		index, err := c.Log.Append(ctx, data)
		if err != nil && !errors.Is(err, store.ErrUnknown) {
			return nil, fmt.Errorf("propose: %w", err)
		}
		if err == nil {
			acks++
		}
		var results []cluster.Result
		found := false
		err = Log(ctx, c.Log, &c.value, func(a protocol.Applied) bool {
			if !a.Duplicate && a.Entry.Writer == c.writer && a.Entry.Seq == c.seq {
				results, found = a.Results, true
			}
			return true
		})
		if err != nil || found {
			return results, err
		}
		if acks > 1 && uint64(c.value.Index()) >= index { // it was read, and passed over
			return nil, fmt.Errorf("propose: %s", outbox.Unread)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("propose: outcome unknown: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
