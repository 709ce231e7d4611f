package nats_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
	"github.com/rota-run/rota/store/storetest"
)

// TestCluster runs the suites on three nodes, with three replicas of each stream. It does not run in parallel: more
// than two clusters at a time, on a small machine, elect leaders and do little else.
func TestCluster(t *testing.T) {
	c, err := server.Spawn(rig.LongDeadline(t),
		server.Options{Dir: folder(t), Nodes: 3, NoSync: true, NoAdvertise: true})
	must.Succeed(t, err)
	t.Cleanup(c.Stop)
	open := func(*testing.T) func(t *testing.T) *nats.Store {
		b, n := bucket(), 0
		return func(t *testing.T) *nats.Store {
			n++
			s := openWith(t, nats.Options{URLs: c.URLs()[n%3 : n%3+1], Bucket: b, Timeout: 30 * time.Second}) // handles on different nodes
			return s
		}
	}
	t.Run("replicas", func(t *testing.T) {
		b := bucket()
		openWith(t, nats.Options{URLs: c.URLs(), Bucket: b})
		door := backdoorTo(t, b, c.URLs()...)
		for _, stream := range []string{door.docs(), door.log()} {
			if n := door.stream(t, stream).CachedInfo().Config.Replicas; n != 3 {
				t.Errorf("stream %s has %d replicas, want 3 in a cluster", stream, n)
			}
		}
	})
	for name, suite := range map[string]func(*testing.T, storetest.Open[*nats.Store]){ // order-free: each has a bucket of its own
		"docs": storetest.Docs[*nats.Store], "many docs": storetest.GetMany[*nats.Store],
		"log":   storetest.Log[*nats.Store],
		"watch": storetest.Watch[*nats.Store], "log watch": storetest.LogWatch[*nats.Store],
		"sessions": storetest.Sessions[*nats.Store], "queue": storetest.Queue[*nats.Store],
	} {
		t.Run(name, func(t *testing.T) { suite(t, open) })
	}
	t.Run("lost consumers", func(t *testing.T) {
		b := bucket()
		s := openWith(t, nats.Options{URLs: c.URLs(), Bucket: b, Timeout: 30 * time.Second})
		changeBesideALostConsumer(t, s, backdoorTo(t, b, c.URLs()...))
	})
}

// leader is the number of the node that leads a stream.
func leader(t *testing.T, door backdoor, p *server.Processes, stream string) int {
	t.Helper()
	name := ""
	rig.Eventually(t, "the stream has a leader", func() bool {
		name = door.leader(stream)
		return name != ""
	})
	return slices.Index(p.Names(), name)
}

// TestFrozenLeader freezes a leader until another one leads, writes to that one, and asks while the old one goes on. It
// still takes itself for the leader for a moment: Get must not believe it, nor may a log become shorter, nor a write be
// called refused that the new leader does.
func TestFrozenLeader(t *testing.T) {
	t.Parallel()
	p := spawn(t, 3)
	s := openWith(t, nats.Options{URLs: p.URLs(), Bucket: "b"})
	door := backdoorTo(t, "b", p.URLs()...)
	stale, rounds := 0, 3
	for round := range rounds {
		usable(t, s)
		key := fmt.Sprint("k", round)
		old := leader(t, door, p, door.docs())
		link := proxyTo(t, p.URLs()[old])
		asking := openWith(t, nats.Options{URLs: []string{"nats://" + link.Addr()}, Bucket: "b",
			Timeout: 20 * time.Second})
		bare := connect(t, p.URLs()[old])
		others := openWith(t, nats.Options{URLs: slices.Delete(p.URLs(), old, old+1), Bucket: "b",
			Timeout: 3 * time.Second})
		v := put3(t, others, key, "old", "")
		sent, sentBare := link.Stats().Requests, bare.Stats().OutMsgs
		must.Succeed(t, p.Signal(old, syscall.SIGSTOP))
		v2 := put3(t, others, key, "new", v)
		append3(t, others, key)
		answers := make(chan string, 2)
		go func() { // without confirmation: what the test would find
			value, err := bareGet(rig.Deadline(t), bare, door, door.doc(key))
			answers <- fmt.Sprintf("%s %v", value, err)
		}()
		go func() {
			d, err := asking.Get(context.Background(), key)
			if err == nil && !strings.HasPrefix(string(d.Value), "new") {
				t.Errorf("round %d: get has %q at %s after %q was acknowledged at %s", round, d.Value, d.Version, "new",
					v2)
			}
			answers <- ""
		}()
		rig.Eventually(t, "both requests are on their way", func() bool {
			// An election may last so long that the client gives the frozen node up.
			return bare.Stats().OutMsgs > sentBare && link.Stats().Requests > sent+ping || len(answers) == 2
		})
		must.Succeed(t, p.Signal(old, syscall.SIGCONT))
		writeWhileThawing(t, others, key, v2)
		for range 2 {
			if strings.HasPrefix(<-answers, "old") {
				stale++
			}
		}
		must.Succeed(t, asking.Close())
		must.Succeed(t, others.Close())
	}
	t.Logf("%d of %d times the thawed leader answered a bare request with what was old", stale, rounds)
}

// put3 writes through a cluster that changes its leader.
func put3(t *testing.T, s *nats.Store, key, value string, v store.Version) store.Version {
	t.Helper()
	var got store.Version
	rig.Eventually(t, "a leader takes the write", func() bool {
		var err error
		got, err = s.Put(context.Background(), store.Doc{Key: key, Value: []byte(value), Version: v})
		if errors.Is(err, store.ErrConflict) { // our own, whose answer was lost
			var d store.Doc
			if d, err = s.Get(context.Background(), key); err == nil && string(d.Value) == value {
				got = d.Version
				return true
			}
		}
		return err == nil
	})
	return got
}

// append3 appends through a cluster that changes its leader.
func append3(t *testing.T, s *nats.Store, data string) {
	t.Helper()
	rig.Eventually(t, "a leader takes the record", func() bool {
		_, err := s.Append(context.Background(), []byte(data))
		return err == nil
	})
}

// writeWhileThawing writes and reads in a hurry, while two nodes may take themselves for the leader.
func writeWhileThawing(t *testing.T, s *nats.Store, key string, v store.Version) {
	t.Helper()
	head := uint64(0)
	for i := range 50 {
		value := fmt.Sprint("new", i)
		next, err := s.Put(context.Background(), store.Doc{Key: key, Value: []byte(value), Version: v})
		if err == nil {
			v = next
		} else {
			var d store.Doc
			rig.Eventually(t, "a leader confirms what it reads", func() bool {
				var getErr error
				d, getErr = s.Get(context.Background(), key)
				return getErr == nil
			})
			if string(d.Value) == value && !errors.Is(err, store.ErrUnknown) {
				t.Errorf("put %d said %v, and was done", i, err)
			}
			v = d.Version
		}
		index, err := s.Append(context.Background(), []byte(value))
		if err == nil {
			head = max(head, index)
		}
		page, err := s.Read(context.Background(), head, 10)
		if err == nil && page.Head < head {
			t.Errorf("the log ends at %d after %d was acknowledged", page.Head, head)
		}
	}
}

// spawn starts nodes that can be killed.
func spawn(t testing.TB, nodes int) *server.Processes {
	t.Helper()
	p := must.Get(server.Spawn(rig.LongDeadline(t), server.Options{Dir: t.TempDir(), Nodes: nodes}))(t)
	t.Cleanup(p.Stop)
	return p
}

// TestLeaderKilled kills the node that leads the log, again and again, while clients write.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	place.Crashes(t, func(t *testing.T) (nats.Options, func(*testing.T)) {
		p := spawn(t, 3)
		return usual(nats.Options{Bucket: "b", URLs: p.URLs()}), func(t *testing.T) {
			door := backdoorTo(t, "b", p.URLs()...)
			killed := leader(t, door, p, door.log())
			p.Kill(killed)
			rig.Eventually(t, "another node leads",
				func() bool { n := door.leader(door.log()); return n != "" && n != p.Names()[killed] })
			must.Succeed(t, p.Restart(killed))
			must.Succeed(t, p.Await(rig.Deadline(t)))
		}
	})
}

// TestSilentNode connects through links to three nodes, and the one that is used falls silent without closing anything:
// the handle notices and asks another one while the link is still broken.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	links, addrs := rig.Links(t, hosts(spawn(t, 3).URLs()...))
	s := openWith(t, nats.Options{Bucket: bucket(), Timeout: 5 * time.Second, URLs: urls(addrs)})
	v := put3(t, s, "a", "x", "")
	for _, link := range links { // the client has one connection, over one of them; the nodes have sent it their own addresses too
		link.Stall()
	}
	rig.Answers(t, s, "a", v)
}
