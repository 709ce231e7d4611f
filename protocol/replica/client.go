package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Client appends commands without being a member. One goroutine at a time.
type Client struct {
	log    store.Log
	writer cluster.WriterID
	seq    uint64
	value  cluster.Value
}

// NewClient makes a client with a writer ID of its own.
func NewClient(l store.Log) *Client {
	return &Client{log: l, writer: cluster.WriterID("client-" + shell.Nonce())}
}

// Propose appends commands and returns when they stand in the log and were applied to the client's own replica of the value.
func (c *Client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	var err error
	if c.value, err = fold.Observe(ctx, c.log, c.value); err != nil {
		return nil, err
	}
	c.seq++
	e := cluster.Entry{
		Writer: c.writer, Seq: c.seq, Format: c.value.Settings().Format, AtMS: time.Now().UnixMilli(),
		BaseIndex: c.value.Index(), BaseChain: c.value.Chain(), Commands: commands,
	}
	for {
		if _, err := c.log.Append(ctx, e.Encode()); err != nil && !errors.Is(err, store.ErrUnknown) {
			return nil, fmt.Errorf("append: %w", err)
		}
		var results []cluster.Result
		found := false
		err := fold.Log(ctx, c.log, &c.value, func(a protocol.Applied) bool {
			if !a.Duplicate && a.Entry.Writer == c.writer && a.Entry.Seq == c.seq {
				results, found = a.Results, true
			}
			return true
		})
		if err != nil || found {
			return results, err
		}
		// It may still come: appending it again is harmless, the value drops duplicates.
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("append: outcome unknown: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
