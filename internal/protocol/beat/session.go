package beat

import (
	"context"
	"errors"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Life is what a heartbeat is written with until its key changes.
type Life struct {
	Session store.Session // nil for none
	Most    time.Duration // the longest TTL that may be stated: see Open
	end     store.EndKey
}

// Begin begins a life: in a session, where s is a store that has them. A guardian, if there is one, hears how to end
// it; docs are the heartbeat, and what else vanishes with the session.
func Begin(
	ctx context.Context, s store.Docs, sessions bool, g protocol.Guard, ttl, usual time.Duration, docs ...string,
) (l Life, err error) {
	ss, ok := s.(store.Sessions)
	if ok = ok && sessions; ok {
		if l.Session, l.Most, err = Open(ctx, ss, ttl, usual); err != nil {
			return Life{}, err
		}
	}
	if g == nil {
		return l, nil
	}
	if l.end = store.EndKeyOf(s, docs[0]); ok { // without a session: the key of a heartbeat is that of one life
		l.end = store.EndKeyOf(l.Session, docs...)
	}
	g.Guard(l.end)
	return l, nil
}

// Close ends a life in order. Where the store did not take that, the guardian still knows of it, and ends it when the
// process has ended.
func (l Life) Close(ctx context.Context, g protocol.Guard) error {
	if l.Session != nil {
		if err := l.Session.Close(ctx); err != nil {
			return err
		}
	}
	l.release(g)
	return nil
}

func (l Life) release(g protocol.Guard) {
	if g != nil {
		g.Release(l.end)
	}
}

// Open opens a session for heartbeats that are to state a TTL. A store that grants none for so long is asked for half
// of it, down to the usual TTL. most is the longest TTL that a heartbeat in the session may state: its owner counts on
// it, and a session that expires takes the heartbeat away. 0: any.
func Open(ctx context.Context, s store.Sessions, ttl,
	usual time.Duration) (session store.Session, most time.Duration, err error) {
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
