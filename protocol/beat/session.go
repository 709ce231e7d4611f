package beat

import (
	"context"
	"errors"
	"time"

	"github.com/rota-run/rota/store"
)

// Open opens a session for heartbeats that are to state a TTL. A store that grants none for so long is asked for half of it, down to the usual TTL. most is the
// longest TTL that a heartbeat in the session may state: its owner counts on it, and a session that expires takes the heartbeat away. 0: any.
func Open(ctx context.Context, s store.Sessions, ttl, usual time.Duration) (session store.Session, most time.Duration, err error) {
	for {
		session, err = s.OpenSession(ctx, ttl)
		if !errors.Is(err, store.ErrTTL) || ttl <= usual {
			break
		}
		ttl = max(usual, ttl/2)
	}
	if err != nil {
		return nil, 0, err
	}
	if s.SessionsExpire() {
		most = ttl
	}
	return session, most, nil
}

// Stated is the TTL that a heartbeat states: what is asked for, but not more than its session lasts.
func Stated(ttl, most time.Duration) time.Duration {
	if most == 0 {
		return ttl
	}
	return min(ttl, most)
}
