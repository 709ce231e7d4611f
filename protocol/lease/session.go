package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	beats "github.com/rota-run/rota/protocol/beat"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

// beatWriter writes the member's own heartbeat: through a session where the store has them, so that it goes with the process.
type beatWriter struct {
	made    sync.Once
	turn    chan struct{} // has room for the one who writes; a waiter gives up when its ctx ends, which a mutex does not let it
	key     string        // of the life that the rest belongs to; "" before the first
	life    uint64
	with    beats.Life
	version store.Version // that was acknowledged last
	over    bool          // the session has ended: what it had written is gone, or goes at any moment
}

// errFormerLife answers a renewal that was overtaken by one of a later life.
var errFormerLife = errors.New("the heartbeat belongs to a former life of the member")

func (w *beatWriter) take(ctx context.Context) error {
	w.made.Do(func() { w.turn = make(chan struct{}, 1) })
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the renewal before: %w", context.Cause(ctx))
	}
}

func (w *beatWriter) give() { <-w.turn }

func (c *Caller) renew(ctx context.Context, e Renew) member.Event {
	sent := c.Now()
	e.TTL = cmp.Or(e.TTL, c.TTL)
	ev := Renewed{Sent: sent, Key: e.Key, TTL: e.TTL, Beat: e.Beat, Outcome: NotDone}
	err := c.beat.take(ctx)
	if err == nil {
		ev.Sent = c.Now()
		ev.Version, ev.TTL, err = c.beat.write(ctx, c, e)
		ev.Outcome, ev.Ended = outcome(err), c.beat.over
		c.beat.give()
	}
	ev.Now, ev.Err = c.Now(), problem(err)
	return c.closed(err, ev)
}

// write returns the version and the TTL that it states.
func (w *beatWriter) write(ctx context.Context, c *Caller, e Renew) (store.Version, time.Duration, error) {
	if err := w.begin(ctx, c, e); err != nil {
		return "", e.TTL, err
	}
	ttl := beats.Stated(e.TTL, w.with.Most)
	t := heartbeat.Text{Member: string(c.Member), AtMS: c.Wall().UnixMilli()}.States(c.TTL, ttl)
	if c.Guard != nil {
		t.Guardian = c.Guard.State()
	}
	d := written(e.Key, e.Version, nodeDoc{State: nodeLive, Text: t, Beat: e.Beat, Tied: w.with.Session != nil, Write: e.Write})
	var v store.Version
	var err error
	if w.with.Session != nil {
		v, err = store.Renew(ctx, w.with.Session, d)
	} else {
		v, err = c.Store.Put(ctx, d)
	}
	switch {
	case err == nil:
		w.version = v
	case errors.Is(err, store.ErrSession):
		w.over = true
		return "", ttl, fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	return v, ttl, err
}

// begin starts another life: with a session of its own, where the store has them.
func (w *beatWriter) begin(ctx context.Context, c *Caller, e Renew) error {
	switch {
	case w.key != e.Key:
	case w.over:
		return fmt.Errorf("%w: %w", store.ErrConflict, store.ErrSession)
	default:
		return nil
	}
	if w.key != "" && e.Life < w.life {
		return errFormerLife // to begin it now would end the present one
	}
	w.close(ctx, c)
	with, err := beats.Begin(ctx, c.Store, !c.NoSessions, c.Guard, e.TTL, c.TTL, e.Key)
	if err != nil {
		return err
	}
	w.with, w.key, w.life, w.version, w.over = with, e.Key, e.Life, "", false
	return nil
}

// close removes the heartbeat of a life in which nothing runs any more.
func (w *beatWriter) close(ctx context.Context, c *Caller) {
	err := w.with.Close(ctx, c.Guard)
	if w.with.Session == nil && w.version != "" {
		err = c.Store.Delete(ctx, w.key, w.version)
	}
	if err != nil {
		c.Logger.Debug("remove our heartbeat", "err", err)
	}
	w.with, w.version = beats.Life{}, ""
}

// Close removes the heartbeat after the member has left or halted.
func (c *Caller) Close(ctx context.Context) {
	if err := c.beat.take(ctx); err != nil {
		c.Logger.Debug("remove our heartbeat", "err", err)
		return
	}
	defer c.beat.give()
	c.beat.close(ctx, c)
}
