package nats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	. "github.com/rota-run/rota/store/nats"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/storetest"
)

// TestCluster runs the suites on three nodes, with three replicas of each stream. Not beside other tests: more than two clusters at a time, on a small
// machine, elect leaders and do little else.
func TestCluster(t *testing.T) {
	c, err := server.Start(longDeadline(t), server.Options{Dir: folder(t), Nodes: 3, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	open := func(*testing.T) func(t *testing.T) *Store {
		b, n := bucket(), 0
		return func(t *testing.T) *Store {
			n++
			s := openWith(t, Options{URLs: c.URLs()[n%3 : n%3+1], Bucket: b, Timeout: 30 * time.Second}) // handles on different nodes
			if s.replicas != 3 {
				t.Fatalf("%d replicas, want 3 in a cluster", s.replicas)
			}
			return s
		}
	}
	t.Run("docs", func(t *testing.T) { storetest.Docs(t, open) })
	t.Run("log", func(t *testing.T) { storetest.Log(t, open) })
	t.Run("watch", func(t *testing.T) { storetest.Watch(t, open) })
	t.Run("log watch", func(t *testing.T) { storetest.LogWatch(t, open) })
	t.Run("sessions", func(t *testing.T) { storetest.Sessions(t, open) })
	t.Run("lost consumers", func(t *testing.T) { changeBesideALostConsumer(t, open(t)(t)) })
}

// leader is the number of the node that leads a stream.
func leader(t *testing.T, s *Store, p *server.Processes, stream string) int {
	t.Helper()
	var out struct {
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	eventually(t, "the stream has a leader", func() bool {
		return s.api(context.Background(), "STREAM.INFO", stream, json.RawMessage("{}"), &out, false) == nil && out.Cluster.Leader != ""
	})
	return slices.Index(p.Names(), out.Cluster.Leader)
}

// TestLeaderIsKilled kills the node that leads the log, again and again, while clients write.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	p := spawn(t, 3)
	o := Options{URLs: p.URLs(), Bucket: "b"}
	s := openWith(t, o)
	o.Timeout = 3 * time.Second // of writers, who meet the leader's death
	writers, stop := crowd(t, o, 3)
	defer stop()
	more(t, writers, 20)
	for range 3 {
		usable(t, s)
		killed := leader(t, s, p, s.names.log())
		p.Kill(killed)
		began := time.Now()
		more(t, writers, 10)
		t.Logf("all writers go on %v after node %d was killed", time.Since(began).Round(time.Millisecond), killed)
		if err := p.Restart(killed); err != nil {
			t.Fatal(err)
		}
		if err := p.Await(deadline(t)); err != nil {
			t.Fatal(err)
		}
		more(t, writers, 10)
	}
	stop()
	usable(t, s)
	wantKept(t, s, writers)
}

// TestFrozenLeader freezes a leader until another one leads, writes through that, and asks while the old one goes on. It still takes itself for the
// leader for a moment: Get must not believe it, nor may a log become shorter, nor a write be called refused that the new leader does.
func TestFrozenLeader(t *testing.T) {
	t.Parallel()
	p := spawn(t, 3)
	s := openWith(t, Options{URLs: p.URLs(), Bucket: "b"})
	stale, rounds := 0, 3
	for round := range rounds {
		usable(t, s)
		key := fmt.Sprint("k", round)
		old := leader(t, s, p, s.names.docs())
		asking := openWith(t, Options{URLs: p.URLs()[old : old+1], Bucket: "b", Timeout: 20 * time.Second})
		others := openWith(t, Options{URLs: slices.Delete(p.URLs(), old, old+1), Bucket: "b", Timeout: 3 * time.Second})
		v := put3(t, others, key, "old", "")
		sent := asking.conn.Stats().OutMsgs
		if err := p.Signal(old, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		v2 := put3(t, others, key, "new", v)
		append3(t, others, key)
		answers := make(chan string, 2)
		go func() { // without confirmation: what the test would find
			m, err := asking.newest(context.Background(), asking.names.doc(key))
			answers <- fmt.Sprintf("%s %v", m.data, err)
		}()
		go func() {
			d, err := asking.Get(context.Background(), key)
			if err == nil && !strings.HasPrefix(string(d.Value), "new") {
				t.Errorf("round %d: get has %q at %s after %q was acknowledged at %s", round, d.Value, d.Version, "new", v2)
			}
			answers <- ""
		}()
		eventually(t, "both requests are on their way", func() bool {
			return asking.conn.Stats().OutMsgs >= sent+2 || len(answers) == 2 // an election may last so long that the client gives the frozen node up
		})
		if err := p.Signal(old, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		writeWhileThawing(t, others, key, v2)
		for range 2 {
			if strings.HasPrefix(<-answers, "old") {
				stale++
			}
		}
		if err := asking.Close(); err != nil {
			t.Fatal(err)
		}
		if err := others.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d times the thawed leader answered a bare request with what was old", stale, rounds)
}

// put3 writes through a cluster that changes its leader.
func put3(t *testing.T, s *Store, key, value string, v store.Version) store.Version {
	t.Helper()
	var got store.Version
	eventually(t, "a leader takes the write", func() bool {
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
func append3(t *testing.T, s *Store, data string) {
	t.Helper()
	eventually(t, "a leader takes the record", func() bool {
		_, err := s.Append(context.Background(), []byte(data))
		return err == nil
	})
}

// writeWhileThawing writes and reads in a hurry, while two nodes may take themselves for the leader.
func writeWhileThawing(t *testing.T, s *Store, key string, v store.Version) {
	t.Helper()
	head := uint64(0)
	for i := range 50 {
		value := fmt.Sprint("new", i)
		next, err := s.Put(context.Background(), store.Doc{Key: key, Value: []byte(value), Version: v})
		if err == nil {
			v = next
		} else {
			var d store.Doc
			eventually(t, "a leader confirms what it reads", func() bool {
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
