package zookeeper_test

import (
	"context"
	"errors"
	. "github.com/rota-run/rota/store/zookeeper"
	"strings"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/store"
)

func openSession(t *testing.T, s *Store, ttl time.Duration) *session {
	t.Helper()
	owned, err := s.OpenSession(deadline(t), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return owned.(*session)
}

func TestSessionTimeoutsOfTheServer(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{Tick: time.Second, MaxSession: 4 * time.Second})
	s, ctx := openWith(t, Options{Servers: c.Servers()}), deadline(t)
	_, err := s.OpenSession(ctx, 5*time.Second)
	if err == nil || !strings.Contains(err.Error(), "maxSessionTimeout") || !strings.Contains(err.Error(), "tickTime") {
		t.Errorf("a ttl longer than the server grants: %v, want an error that names maxSessionTimeout and tickTime", err)
	}
	short := openSession(t, s, 300*time.Millisecond) // the server makes 2 s of it
	if _, granted := short.link.contact(); granted != 2*time.Second {
		t.Errorf("granted %v, want 2s", granted)
	}
	for _, ttl := range []time.Duration{0, -1, 100 * 24 * time.Hour} {
		if _, err := s.OpenSession(ctx, ttl); err == nil || !strings.Contains(err.Error(), "ttl") {
			t.Errorf("ttl %v: %v", ttl, err)
		}
	}
	until(t, "the refused session is forgotten", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for other := range s.sessions {
			if other != short { // which may have ended by now
				return false
			}
		}
		return true
	})
}

// TestSessionIsNeverReplaced lets a session expire while a write of it is under way: no other session may do it.
func TestSessionIsNeverReplaced(t *testing.T) {
	t.Parallel()
	o := Options{Servers: servers(t), Path: freshPath(t)}
	witness := openWith(t, o)
	through, link := openThrough(t, o)
	owned, ctx := openSession(t, through, 6*time.Second), deadline(t) // longer than a busy machine stands still between two steps
	if _, err := owned.Put(ctx, store.Doc{Key: "a/b"}); err != nil {
		t.Fatal(err)
	}
	link.Stall()
	late := make(chan error, 1)
	go func() {
		_, err := owned.Put(ctx, store.Doc{Key: "a/late"})
		late <- err
	}()
	<-owned.Done()
	if err := link.Heal(); err != nil {
		t.Fatal(err)
	}
	if err := <-late; !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrSession) {
		t.Errorf("put that was under way: %v", err)
	}
	until(t, "all that the session wrote is gone", func() bool {
		docs, err := witness.List(ctx, "")
		lives, lerr := witness.children(ctx, witness.at(livesNode))
		return err == nil && lerr == nil && len(docs) == 0 && len(lives) == 0
	})
	if _, err := owned.Put(ctx, store.Doc{Key: "a/b"}); !errors.Is(err, store.ErrSession) {
		t.Errorf("put with a session that has ended: %v", err)
	}
	if err := owned.Close(ctx); err != nil {
		t.Errorf("close of a session that has ended: %v", err)
	}
}

// TestPutAfterASilence pretends that the process stood still: the servers have not been seen for more than half of the timeout.
func TestPutAfterASilence(t *testing.T) {
	t.Parallel()
	s := openWith(t, Options{Servers: servers(t), Path: freshPath(t)})
	owned, ctx := openSession(t, s, time.Minute), deadline(t)
	ago := func(d time.Duration) uint64 {
		owned.link.mu.Lock()
		defer owned.link.mu.Unlock()
		owned.link.heard = time.Now().Add(-d)
		return owned.link.gen
	}
	gen := ago(20 * time.Second) // a busy machine adds some to it
	v, err := owned.Put(ctx, store.Doc{Key: "a"})
	if err != nil || owned.link.generation() != gen {
		t.Errorf("put after 20 s of 60: %v, connection %d after %d; want the same", err, owned.link.generation(), gen)
	}
	gen = ago(31 * time.Second)
	if _, err = owned.Put(ctx, store.Doc{Key: "a", Version: v}); err != nil || owned.link.generation() == gen {
		t.Errorf("put after 31 s of 60: %v, connection %d after %d; want a new one, which asks the leader", err, owned.link.generation(), gen)
	}
	if err := owned.renewed(time.Now().Add(-35 * time.Second)); err != nil {
		t.Errorf("acknowledged 35 s of 60 after the sign of life: %v", err)
	}
	if err := owned.renewed(time.Now().Add(-46 * time.Second)); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("acknowledged 46 s of 60 after the sign of life: %v, want ErrUnknown", err)
	}
}

// TestSessionsSurviveTheLeader kills the leader under sessions that write: none of their documents vanishes.
func TestSessionsSurviveTheLeader(t *testing.T) {
	t.Parallel()
	c, ctx := ownServers(t, server.Options{Nodes: 3}), longDeadline(t)
	witness := openWith(t, Options{Servers: c.Servers()})
	owned := openSession(t, openWith(t, Options{Servers: c.Servers()}), time.Minute) // longer than an election on a busy machine
	v, err := owned.Put(ctx, store.Doc{Key: "a"})
	if err != nil {
		t.Fatal(err)
	}
	leader, err := c.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.Kill(leader)
	until(t, "the session writes under another leader", func() bool {
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
