package fold

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
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
