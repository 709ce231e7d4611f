package lease

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// givenUp is a store whose clients give their sessions up before the server does: the documents of the session are there for a while yet.
type givenUp struct {
	*memory.Store
	over bool
}

func (g *givenUp) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	s, err := g.Store.OpenSession(ctx, ttl)
	return &givenUpSession{s, g}, err
}

type givenUpSession struct {
	store.Session
	g *givenUp
}

func (s *givenUpSession) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if s.g.over {
		return "", store.ErrSession
	}
	return s.Session.Put(ctx, d)
}

// TestNoHeartbeatOfAnotherSession: once its session was given up, a heartbeat that is still there is not renewed in another session. It would go with the
// former one while the member holds its lease.
func TestNoHeartbeatOfAnotherSession(t *testing.T) {
	t.Parallel()
	s := &givenUp{Store: memory.New().Open()}
	defer s.Close()
	c := &Caller{Member: "m", Store: s, TTL: time.Second, Logger: slog.New(slog.DiscardHandler), Now: protocol.NewProcessClock(), Wall: time.Now}
	renew := func(key string, life uint64, over store.Version) Renewed {
		t.Helper()
		ev, ok := c.Call(t.Context(), Renew{Key: key, Version: over, Life: life}).(Renewed)
		if !ok {
			t.Fatal("a renewal is answered by another event")
		}
		return ev
	}
	first := renew("node/m/a-0", 0, "")
	if first.Outcome != Done || first.Ended {
		t.Fatalf("the first renewal: %+v", first)
	}
	s.over = true
	if ev := renew("node/m/a-0", 0, first.Version); ev.Outcome != Conflict || !ev.Ended {
		t.Errorf("the session was given up: %+v", ev)
	}
	s.over = false // another session would work
	if ev := renew("node/m/a-0", 0, first.Version); ev.Outcome == Done || !ev.Ended {
		t.Errorf("renewed in another session: %+v", ev)
	}
	if ev := renew("node/m/a-1", 1, ""); ev.Outcome != Done || ev.Ended {
		t.Errorf("another life: %+v", ev)
	}
	c.Close(t.Context())
}

// TestAnEndedSessionIsALapse: the member stops what it runs at once.
func TestAnEndedSessionIsALapse(t *testing.T) {
	t.Parallel()
	s := State{Core: coreIn(member.PhaseMember, member.Params{}), beat: beat{count: 3}, random: 1}
	s.Own = member.Own{Asking: heartbeat.Asking{Busy: true}, Key: "node/m/a-0"}
	s, _ = Step(s, Renewed{Key: "node/m/a-0", Beat: 3, Outcome: Conflict, Ended: true})
	if s.Is != member.PhaseRemoved {
		t.Errorf("the member is in phase %s, and should be removed", s.Phase())
	}
}
