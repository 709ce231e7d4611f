package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Observe folds the log from v (the zero value to begin) to its head and returns the value there. It writes nothing.
func Observe(ctx context.Context, l store.Log, v cluster.Value) (cluster.Value, error) {
	err := fold(ctx, l, &v, func(protocol.Applied) bool { return true })
	return v, err
}

// History yields the applied entries behind after, as far as the log keeps them, each with the value that it led to.
func History(ctx context.Context, l store.Log, after cluster.Index, yield func(cluster.Value, protocol.Applied) bool) error {
	var v cluster.Value
	return fold(ctx, l, &v, func(a protocol.Applied) bool { return a.Entry.Index <= after || yield(v, a) })
}

// fold applies what is in the log to the value until its head or until yield says no.
func fold(ctx context.Context, l store.Log, v *cluster.Value, yield func(protocol.Applied) bool) error {
	for {
		page, err := l.Read(ctx, uint64(v.Index()), readLimit)
		if errors.Is(err, store.ErrTruncated) {
			if err := loadSnapshot(ctx, l, v); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		for _, rec := range page.Records {
			e, ok, err := v.Decode(cluster.Index(rec.Index), rec.Data)
			if err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
			if !ok {
				*v = v.Skip(cluster.Index(rec.Index), rec.Data)
				continue
			}
			next, done := v.Apply(e)
			*v = next
			if !yield(protocol.Applied{Entry: e, Results: done.Results, Duplicate: done.Duplicate}) {
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
		return fmt.Errorf("read the log: entries behind %s are trimmed and the snapshot stands at %s", v.Index(), next.Index())
	}
	*v = next
	return nil
}

// Client appends commands without being a member. One goroutine at a time.
type Client struct {
	log    store.Log
	writer cluster.WriterID
	seq    uint64
	value  cluster.Value
}

// NewClient makes a client with a writer ID of its own.
func NewClient(l store.Log) *Client {
	return &Client{log: l, writer: cluster.WriterID("client-" + newNonce())}
}

// Propose appends commands and returns when they stand in the log and were applied to the client's own replica of the value.
func (c *Client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	var err error
	if c.value, err = Observe(ctx, c.log, c.value); err != nil {
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
		err := fold(ctx, c.log, &c.value, func(a protocol.Applied) bool {
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
