package replica

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// pulseWriter writes the member's own pulse: through a session where the store has them, so that it goes with the process.
type pulseWriter struct {
	mu      sync.Mutex
	key     string // of the life that the rest belongs to
	session store.Session
	former  store.Session // of the life before: its pulse stays until the present one is established
	writes  int           // of the present life
	version store.Version
}

// pulseText is what a pulse says, for people.
type pulseText struct {
	Member string `json:"member"`
	AtMS   int64  `json:"at_ms"`
}

func (w *pulseWriter) renew(ctx context.Context, r *Replica, e Renew) Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := protocol.Now()
	out, err := w.write(ctx, r, e)
	return Renewed{Now: protocol.Now(), Sent: sent, Key: e.Key, Outcome: out, Err: text(err)}
}

func (w *pulseWriter) write(ctx context.Context, r *Replica, e Renew) (Outcome, error) {
	if w.key != e.Key {
		if err := w.begin(ctx, r, e.Key); err != nil {
			return NotDone, err
		}
	}
	value, err := json.Marshal(pulseText{string(r.c.Member), time.Now().UnixMilli()})
	if err != nil {
		return NotDone, err
	}
	for range 3 {
		v, err := w.put(ctx, r, store.Doc{Key: e.Key, Value: value, Version: w.version})
		switch {
		case err == nil:
			w.version = v
			w.established(ctx, r)
			return Done, nil
		case errors.Is(err, store.ErrSession):
			return Refused, nil
		case !errors.Is(err, store.ErrConflict):
			return outcome(err), err
		}
		// A former write of ours may have been stored though its outcome was unknown. Nobody else writes this key, but it may have been removed.
		d, err := r.c.Store.Get(ctx, e.Key)
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

func (w *pulseWriter) put(ctx context.Context, r *Replica, d store.Doc) (store.Version, error) {
	if w.session != nil {
		return w.session.Put(ctx, d)
	}
	return r.c.Store.Put(ctx, d)
}

// begin starts another life: with a session of its own.
func (w *pulseWriter) begin(ctx context.Context, r *Replica, key string) error {
	w.closeFormer(ctx, r)
	w.former, w.session = w.session, nil
	if s, ok := r.c.Store.(store.Sessions); ok && !r.c.NoSessions {
		session, err := s.OpenSession(ctx, r.c.TTL)
		if err != nil {
			return err
		}
		w.session = session
	}
	w.key, w.version, w.writes = key, "", 0
	return nil
}

// established gives up the pulse of the former life once the present one has been renewed for a while. Sooner, those who have not
// yet heard of the new pulse would report the old one as gone.
func (w *pulseWriter) established(ctx context.Context, r *Replica) {
	if w.writes++; w.writes >= 3 {
		w.closeFormer(ctx, r)
	}
}

func (w *pulseWriter) closeFormer(ctx context.Context, r *Replica) {
	if w.former == nil {
		return
	}
	if err := w.former.Close(ctx); err != nil {
		r.c.Logger.Debug("close the session of a former life", "err", err)
	}
	w.former = nil
}

func (w *pulseWriter) close(ctx context.Context) error {
	if w.session == nil {
		return nil
	}
	s := w.session
	w.session = nil
	return s.Close(ctx)
}

// closeSession removes the pulse after the member has left or halted.
func (sh *shell) closeSession() {
	ctx, cancel := context.WithTimeout(context.Background(), sh.r.p.TTL/3)
	defer cancel()
	w := &sh.pulse
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeFormer(ctx, sh.r)
	if w.session == nil && w.version != "" {
		if err := sh.r.c.Store.Delete(ctx, w.key, w.version); err != nil {
			sh.r.c.Logger.Debug("remove our pulse", "err", err)
		}
		return
	}
	if err := w.close(ctx); err != nil {
		sh.r.c.Logger.Debug("close our session", "err", err)
	}
}
