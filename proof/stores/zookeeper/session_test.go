package zookeeper_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

func openSession(t *testing.T, s *zookeeper.Store, ttl time.Duration) store.Session {
	t.Helper()
	owned := must.Get(s.OpenSession(rig.Deadline(t), ttl))(t)
	return owned
}

// TestSessionTimeoutsOfTheServer asks for sessions that are longer and shorter than those which the server grants.
func TestSessionTimeoutsOfTheServer(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{Tick: time.Second, MaxSession: 4 * time.Second})
	var warnings output.Text
	o, ctx := zookeeper.Options{Servers: c.Servers(), Logger: slog.New(slog.NewTextHandler(&warnings, nil))},
		rig.Deadline(t)
	s, link := openThrough(t, o)
	_, err := s.OpenSession(ctx, 5*time.Second)
	if err == nil || !strings.Contains(err.Error(), "maxSessionTimeout") || !strings.Contains(err.Error(), "tickTime") {
		t.Errorf("a ttl longer than the server grants: %v, want an error that names maxSessionTimeout and tickTime",
			err)
	}
	rig.Eventually(t, "the refused session is closed", func() bool { return link.Stats().Open == 1 }) // the handle's own connection is left
	if text := warnings.String(); text != "" {
		t.Errorf("warned before a session was granted: %s", text)
	}
	openSession(t, s, 300*time.Millisecond) // the server makes 2 s of it
	if text := warnings.String(); !strings.Contains(text, "asked=300ms granted=2s") {
		t.Errorf("warned of %q, want that 2 s were granted where 300 ms were asked for", text)
	}
	for _, ttl := range []time.Duration{0, -1, 100 * 24 * time.Hour} {
		if _, err := s.OpenSession(ctx, ttl); err == nil || !strings.Contains(err.Error(), "ttl") {
			t.Errorf("ttl %v: %v", ttl, err)
		}
	}
}

// TestSessionsSurviveTheLeader kills the leader under sessions that write: none of their documents vanishes.
func TestSessionsSurviveTheLeader(t *testing.T) {
	t.Parallel()
	c, ctx := ownServers(t, server.Options{Nodes: 3}), rig.LongDeadline(t)
	witness := openWith(t, zookeeper.Options{Servers: c.Servers()})
	owned := openSession(t, openWith(t, zookeeper.Options{Servers: c.Servers()}), time.Minute) // longer than an election on a busy machine
	v := must.Get(owned.Put(ctx, store.Doc{Key: "a"}))(t)
	leader := must.Get(c.Leader(ctx))(t)
	c.Kill(leader)
	rig.Eventually(t, "the session writes under another leader", func() bool {
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := owned.Put(one, store.Doc{Key: "a", Version: v})
		if errors.Is(err, store.ErrSession) {
			t.Fatalf("the session has ended: %v", err)
		}
		if d, err := witness.Get(one, "a"); err == nil {
			v = d.Version
		} else if errors.Is(err, store.ErrNotFound) {
			t.Fatal("the document of a living session is gone")
		}
		return err == nil
	})
}
