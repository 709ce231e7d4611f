package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// client asks the leader to enter commands, without being a member. One goroutine at a time.
type client struct {
	store  store.Full
	writer cluster.WriterID
	seq    uint64
}

// clientPoll is between two looks at a request.
const clientPoll = 50 * time.Millisecond

// Propose writes a request and returns when the leader has answered it.
func (c *client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	c.seq++
	key := planKey(c.writer, c.seq)
	value, err := Encode(planDoc{Writer: c.writer, Seq: c.seq, AtMS: time.Now().UnixMilli(), Commands: commands})
	if err != nil {
		return nil, err
	}
	for written := 0; ; {
		_, err := c.store.Put(ctx, store.Doc{Key: key, Value: value})
		if err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("ask the leader: %w", err)
		}
		if err == nil {
			written++
		}
		results, again, err := c.await(ctx, key)
		switch {
		case !again:
			return results, err
		case written > 1:
			return nil, errors.New("ask the leader: the request was removed twice, without an answer; try: rota status")
		}
	}
}

// await waits for the answer. Again: the request is not there, and was never seen.
func (c *client) await(ctx context.Context, key string) (results []cluster.Result, again bool, err error) {
	for {
		d, err := c.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, true, nil
		}
		if err == nil {
			doc, err := Decode(key, d.Value)
			if err != nil {
				return nil, false, fmt.Errorf("ask the leader: %q: %w", key, err)
			}
			if p, ok := doc.(planDoc); ok && p.Answer != nil {
				_ = c.store.Delete(ctx, key, d.Version) // the leader removes what is left
				if p.Answer.Err != "" {
					return nil, false, fmt.Errorf("ask the leader: %s", p.Answer.Err)
				}
				return p.Answer.Results, false, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, false, fmt.Errorf("ask the leader: outcome unknown: %w", context.Cause(ctx))
		case <-time.After(clientPoll):
		}
	}
}
