package handle

import (
	"context"

	"github.com/rota-run/rota/store"
)

// MakeFlow implements store.Queue.
func (h *Handle) MakeFlow(ctx context.Context, flow string, shards []store.Shard) error {
	return h.change(ctx, "make flow", flow, func(ctx context.Context) error {
		return h.inner.MakeFlow(ctx, flow, shards)
	})
}

// DropFlow implements store.Queue.
func (h *Handle) DropFlow(ctx context.Context, flow string) error {
	return h.change(ctx, "drop flow", flow, func(ctx context.Context) error { return h.inner.DropFlow(ctx, flow) })
}

// Receive implements store.Queue.
func (h *Handle) Receive(ctx context.Context, flow string, r store.Receive) (messages []store.Message, err error) {
	err = h.change(ctx, "receive from flow", flow, func(ctx context.Context) error {
		messages, err = h.inner.Receive(ctx, flow, r)
		return err
	})
	return messages, err
}

// Commit implements store.Queue.
func (h *Handle) Commit(ctx context.Context, flow string, units ...store.Unit) (fresh []bool, err error) {
	err = h.change(ctx, "commit to flow", flow, func(ctx context.Context) error {
		fresh, err = h.inner.Commit(ctx, flow, units...)
		return err
	})
	return fresh, err
}

// Depth implements store.Queue.
func (h *Handle) Depth(ctx context.Context, flow string, shards ...store.Shard) (depths []store.Depth, err error) {
	err = h.change(ctx, "depth of flow", flow, func(ctx context.Context) error {
		depths, err = h.inner.Depth(ctx, flow, shards...)
		return err
	})
	return depths, err
}
