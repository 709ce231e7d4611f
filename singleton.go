package rota

import (
	"context"
	"errors"
)

// Singleton runs f on one member of the cluster at a time, by a lock of this name: it waits for its turn, calls f, and returns what f returns. The ctx of f
// ends with ctx and with the lock; where the lock was lost, because the store was away for too long, Singleton waits for another turn and calls f again. The
// token grows with every turn: give it to what f writes to.
func (m *Member) Singleton(ctx context.Context, name string, f func(ctx context.Context, token Token) error) error {
	for {
		lost := false
		err := m.Lock(name).Do(ctx, func(ctx context.Context, token Token) error {
			err := f(ctx, token)
			lost = errors.Is(context.Cause(ctx), ErrLost)
			return err
		})
		if !lost && !errors.Is(err, ErrLost) || ctx.Err() != nil {
			return err
		}
	}
}
