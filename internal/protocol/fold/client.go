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
		return nil, fmt.Errorf("append: %w", err)
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
			return nil, fmt.Errorf("append: %w", err)
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
			return nil, fmt.Errorf("append: %s", outbox.Unread)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("append: outcome unknown: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
