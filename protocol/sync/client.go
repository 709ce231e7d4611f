package sync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/store"
)

// Client appends records without being a member. One goroutine at a time.
type Client struct {
	log    Records
	writer cluster.WriterID
	seq    uint64
	value  cluster.Value
}

// Propose appends commands and returns when they are in the topic and were applied to the client's own replica of the value. Before a cluster has its first
// member it also chooses the placement, which says what jobs can run.
func (c *Client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	var err error
	if c.value, err = fold.Observe(ctx, c.log, c.value); err != nil {
		return nil, err
	}
	place := 0
	if c.value.Settings().Placement == cluster.PlacementPlanned {
		commands, place = append([]cluster.Command{cluster.Place{Placement: cluster.PlacementShared}}, commands...), 1
	}
	c.seq++
	results, err := c.say(ctx, cluster.Entry{
		Writer: c.writer, Seq: c.seq, Format: c.value.Settings().Format, AtMS: time.Now().UnixMilli(),
		BaseIndex: c.value.Index(), BaseChain: c.value.Chain(), Commands: commands,
	})
	if err != nil {
		return nil, err
	}
	return results[place:], nil
}

func (c *Client) say(ctx context.Context, e cluster.Entry) ([]cluster.Result, error) {
	message, err := EncodeRecord(e, epochOf(c.value))
	if err != nil {
		return nil, err
	}
	if _, err := DecodeRecord(message); err != nil { // nobody could read it
		return nil, fmt.Errorf("append: %w", err)
	}
	for {
		if _, err := c.log.Append(ctx, message); err != nil && !errors.Is(err, store.ErrUnknown) {
			return nil, fmt.Errorf("append: %w", err)
		}
		var results []cluster.Result
		err := fold.Log(ctx, c.log, &c.value, func(a protocol.Applied) bool {
			if !a.Duplicate && a.Entry.Writer == c.writer && a.Entry.Seq == e.Seq {
				results = a.Results
			}
			return true
		})
		if err != nil || results != nil {
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
