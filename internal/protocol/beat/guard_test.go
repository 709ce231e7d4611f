package beat

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// leaving is a store that does not answer who leaves, while away is set.
type leaving struct {
	*memory.Store
	away bool
}

func (*leaving) EndKey(docs ...string) store.EndKey { return store.EndKey{Text: docs[0]} }

func (l *leaving) Delete(ctx context.Context, key string, v store.Version) error {
	if l.away {
		return store.ErrUnavailable
	}
	return l.Store.Delete(ctx, key, v)
}

func (l *leaving) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	s, err := l.Store.OpenSession(ctx, ttl)
	return left{s, l}, err
}

type left struct {
	store.Session
	of *leaving
}

func (l left) EndKey(docs ...string) store.EndKey { return l.of.EndKey(docs...) }

func (l left) Close(ctx context.Context) error {
	if l.of.away {
		return store.ErrUnavailable
	}
	return l.Session.Close(ctx)
}

// guarded are the texts of what a guardian is to end.
type guarded map[string]bool

func (g guarded) Guard(k store.EndKey)   { g[k.Text] = true }
func (g guarded) Release(k store.EndKey) { delete(g, k.Text) }
func (guarded) State() string            { return "on" }

// TestAGuardianEndsWhatTheStoreDidNot: a member that leaves while the store is away leaves its heartbeat to the
// guardian; one of a former life is of no use.
func TestAGuardianEndsWhatTheStoreDidNot(t *testing.T) {
	t.Parallel()
	for _, noSessions := range []bool{false, true} {
		for _, away := range []bool{false, true} {
			s, g := &leaving{Store: memory.New().Open()}, guarded{}
			w := &Writer{
				Member: "a", Store: s, TTL: time.Second, NoSessions: noSessions, Guard: g,
				Logger: slog.New(slog.DiscardHandler),
				Now:    protocol.NewProcessClock(), Wall: time.Now,
			}
			for life, key := range []string{"pulse/a/n-0", "pulse/a/n-1"} {
				if _, _, out, err := w.Renew(t.Context(),
					member.Renew{Key: key, Create: true, Life: uint64(life)}); out != outbox.Done {
					t.Fatal(out, err)
				}
			}
			s.away = away
			w.Close(t.Context())
			if got := g["pulse/a/n-1"]; got != away || g["pulse/a/n-0"] {
				t.Errorf("without sessions %t, the store is away %t: the guardian knows of %v", noSessions, away, g)
			}
			_ = s.Store.Close()
		}
	}
}

// TestNothingIsLeftToEnd: others have ended the heartbeat of a member that leaves, so its guardian has nothing to do.
func TestNothingIsLeftToEnd(t *testing.T) {
	t.Parallel()
	const key = "node/a/n-0"
	for _, state := range []string{heartbeat.Fenced, ""} {
		s, g := &leaving{Store: memory.New().Open()}, guarded{}
		w := &Writer{
			Member: "a", Store: s, TTL: time.Second, NoSessions: true, Fenced: true, Guard: g,
			Logger: slog.New(slog.DiscardHandler), Now: protocol.NewProcessClock(), Wall: time.Now,
		}
		if _, _, out, err := w.Renew(t.Context(), member.Renew{Key: key, Create: true}); out != outbox.Done ||
			!g[key] {
			t.Fatal(out, err, g)
		}
		(&meddled{Store: s.Store}).over(t, key, state)
		if w.Close(t.Context()); len(g) != 0 {
			t.Errorf("the heartbeat is %q: the guardian knows of %v", state, g)
		}
	}
}
