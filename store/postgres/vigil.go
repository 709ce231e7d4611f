package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// vigil is a row of the table of sessions, to which its rows refer: they are removed with it.
type vigil struct {
	s     *schema
	id    int64
	ttl   time.Duration
	ended chan struct{}
	once  sync.Once
}

// Vigil implements driver.Vigils. Where the end of its process cannot be noticed, it is removed after four times the
// ttl.
func (s *schema) Vigil(ctx context.Context, ttl time.Duration) (driver.Vigil, error) {
	calling, leave, err := s.life.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v := &vigil{s: s, id: newID(), ttl: ttl, ended: make(chan struct{})}
	if _, err := s.change(calling, sqlOpenSession, v.id, s.owner, ttl.Milliseconds()); err != nil {
		return nil, inner.NotDone(err) // a session that nobody knows holds nothing, and is removed when it was silent
	}
	s.mu.Lock()
	s.vigils[v.id] = v
	s.mu.Unlock()
	s.line.awaitTie(calling)
	return v, nil
}

// EndVigil implements driver.Vigils.
func (s *schema) EndVigil(ctx context.Context, key string) error {
	text, ours := strings.CutPrefix(key, keyPrefix)
	id, err := strconv.ParseInt(text, 10, 64)
	if !ours || err != nil {
		return errors.New("the key is not that of a session of PostgreSQL")
	}
	return s.endSession(ctx, id)
}

// keyPrefix is what the key of a vigil begins with.
const keyPrefix = "postgres/"

func (w *wire) endSession(ctx context.Context, id int64) error {
	ctx, leave, err := w.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, err = w.change(ctx, sqlEndSession, id)
	return err
}

// open are the vigils of this handle that have not ended.
func (w *wire) open() []*vigil {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*vigil, 0, len(w.vigils))
	for _, v := range w.vigils { // order-free: each is looked at alone
		all = append(all, v)
	}
	return all
}

// EndKey implements driver.Vigil.
func (v *vigil) EndKey() store.EndKey {
	return store.EndKey{Text: keyPrefix + strconv.FormatInt(v.id, 10)}
}

// Ended implements driver.Vigil.
func (v *vigil) Ended() <-chan struct{} { return v.ended }

// lost notes that others have ended it.
func (v *vigil) lost() { v.once.Do(func() { close(v.ended) }) }

// Swap implements driver.Hold.
func (v *vigil) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	at, err := v.s.swap(ctx, op, v.id)
	if errors.Is(err, store.ErrConflict) && v.removed(ctx) {
		err = fmt.Errorf("%w: others have ended it", store.ErrSession)
	}
	if errors.Is(err, store.ErrSession) {
		v.lost()
	}
	return at, err
}

// removed reports whether others have ended it, so that its rows are gone: that is why a version was not current.
func (v *vigil) removed(ctx context.Context) bool {
	rows, err := v.s.ask(ctx, sqlSessionExists, v.id)
	return err == nil && len(rows) == 0
}

// End implements driver.Hold.
func (v *vigil) End(ctx context.Context) error { return v.s.endSession(ctx, v.id) }

// Close implements driver.Hold.
func (v *vigil) Close() {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	delete(v.s.vigils, v.id)
}
