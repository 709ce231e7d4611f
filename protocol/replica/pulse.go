package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/store"
)

// pulseWriter writes the member's own pulse: through a session where the store has them, so that it goes with the process.
type pulseWriter struct {
	made    sync.Once
	turn    chan struct{} // has room for the one who writes; a waiter gives up when its ctx ends, which a mutex does not let it
	key     string        // of the life that the rest belongs to; "" before the first
	life    uint64        // its number
	session store.Session
	former  store.Session // of the life before: its pulse stays until the present one is established
	writes  int           // of the present life
	version store.Version
}

// errFormerLife answers a renewal that was overtaken by one of a later life.
var errFormerLife = errors.New("the pulse belongs to a former life of the member")

func (w *pulseWriter) renew(ctx context.Context, c *Caller, e Renew) Event {
	if err := w.take(ctx); err != nil {
		return Renewed{Now: c.Now(), Sent: c.Now(), Key: e.Key, Outcome: NotDone, Err: text(err)}
	}
	defer w.give()
	sent := c.Now()
	out, err := w.write(ctx, c, e)
	return Renewed{Now: c.Now(), Sent: sent, Key: e.Key, Outcome: out, Err: text(err)}
}

// take waits until nobody else writes.
func (w *pulseWriter) take(ctx context.Context) error {
	w.made.Do(func() { w.turn = make(chan struct{}, 1) })
	select {
	case w.turn <- struct{}{}: // also where ctx has ended: the store says so
		return nil
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the renewal before: %w", context.Cause(ctx))
	}
}

func (w *pulseWriter) give() { <-w.turn }

func (w *pulseWriter) write(ctx context.Context, c *Caller, e Renew) (Outcome, error) {
	if w.key != e.Key {
		if w.key != "" && e.Life < w.life {
			return NotDone, errFormerLife // to begin it now would end the present one
		}
		if err := w.begin(ctx, c, e); err != nil {
			return NotDone, err
		}
	}
	value, err := c.text().Encode(c.TTL)
	if err != nil {
		return NotDone, err
	}
	for range 3 {
		v, err := w.put(ctx, c, store.Doc{Key: e.Key, Value: value, Version: w.version})
		switch {
		case err == nil:
			w.version = v
			w.established(ctx, c)
			return Done, nil
		case errors.Is(err, store.ErrSession):
			return Refused, nil
		case !errors.Is(err, store.ErrConflict):
			return outcome(err), err
		}
		// A former write of ours may have been stored though its outcome was unknown. Nobody else writes this key, but it may have been removed.
		d, err := c.Store.Get(ctx, e.Key)
		switch {
		case err == nil:
			w.version = d.Version
		case errors.Is(err, store.ErrNotFound) && e.Create:
			w.version = ""
		case errors.Is(err, store.ErrNotFound):
			return Refused, nil
		default:
			return NotDone, err
		}
	}
	return NotDone, store.ErrConflict
}

func (w *pulseWriter) put(ctx context.Context, c *Caller, d store.Doc) (store.Version, error) {
	if w.session != nil {
		return w.session.Put(ctx, d)
	}
	return c.Store.Put(ctx, d)
}

// begin starts another life: with a session of its own.
func (w *pulseWriter) begin(ctx context.Context, c *Caller, e Renew) error {
	w.closeFormer(ctx, c)
	w.former, w.session = w.session, nil
	if s, ok := c.Store.(store.Sessions); ok && !c.NoSessions {
		session, err := s.OpenSession(ctx, c.TTL)
		if err != nil {
			return err
		}
		w.session = session
		if c.Guard != nil {
			c.Guard.Guard(session, e.Key)
		}
	}
	w.key, w.life, w.version, w.writes = e.Key, e.Life, "", 0
	return nil
}

// established gives up the pulse of the former life once the present one has been renewed for a while. Sooner, those who have not
// yet heard of the new pulse would report the old one as gone.
func (w *pulseWriter) established(ctx context.Context, c *Caller) {
	if w.writes++; w.writes >= 3 {
		w.closeFormer(ctx, c)
	}
}

func (w *pulseWriter) closeFormer(ctx context.Context, c *Caller) {
	if w.former == nil {
		return
	}
	c.release(w.former)
	if err := w.former.Close(ctx); err != nil {
		c.Logger.Debug("close the session of a former life", "err", err)
	}
	w.former = nil
}

func (w *pulseWriter) close(ctx context.Context, c *Caller) error {
	if w.session == nil {
		return nil
	}
	s := w.session
	w.session = nil
	c.release(s)
	return s.Close(ctx)
}

// text is what the heartbeat says for people.
func (c *Caller) text() heartbeat.Text {
	t := heartbeat.Text{Member: string(c.Member), AtMS: c.Wall().UnixMilli()}
	if c.Guard != nil {
		t.Guardian = c.Guard.State()
	}
	return t
}

func (c *Caller) release(s store.Session) {
	if c.Guard != nil {
		c.Guard.Release(s)
	}
}

// Close removes the pulse after the member has left or halted.
func (c *Caller) Close(ctx context.Context) {
	w := &c.pulse
	if err := w.take(ctx); err != nil {
		c.Logger.Debug("remove our heartbeat", "err", err)
		return
	}
	defer w.give()
	w.closeFormer(ctx, c)
	if w.session == nil && w.version != "" {
		if err := c.Store.Delete(ctx, w.key, w.version); err != nil {
			c.Logger.Debug("remove our heartbeat", "err", err)
		}
		return
	}
	if err := w.close(ctx, c); err != nil {
		c.Logger.Debug("close our session", "err", err)
	}
}
