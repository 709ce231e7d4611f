package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rota-run/rota/store/driver"
)

// NewVigils makes sessions that do not run out: they last as long as their process. Those of v are on the same store.
func NewVigils(r *Rows, v driver.Vigils, log *slog.Logger) *Sessions {
	return &Sessions{rows: r, vigils: v, log: log, open: map[*Session]struct{}{}}
}

// Expire reports whether a session ends when its owner is silent.
func (s *Sessions) Expire() bool { return s.vigils == nil }

// openVigil begins a session that lasts as long as its process.
func (s *Sessions) openVigil(ctx context.Context, ttl time.Duration) (*Session, error) {
	v, err := s.vigils.Vigil(ctx, ttl)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return s.begin(&Session{hold: v})
}

// endVigil ends the session of another process.
func (s *Sessions) endVigil(ctx context.Context, key string) error {
	if key == "" {
		return fmt.Errorf("the key has no text: the session ends when nobody holds its file open any more")
	}
	return s.vigils.EndVigil(ctx, key)
}

// watch ends the session when others have ended its vigil.
func (n *Session) watch(v driver.Vigil) {
	select {
	case <-v.Ended():
		n.nowGone()
		n.end()
	case <-n.done:
	}
}
