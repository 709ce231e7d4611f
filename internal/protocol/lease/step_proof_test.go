package lease

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// TestReadBackIsNoAcknowledgement: the outcome of a write is unknown, and a read shows it. A copy of the store that was cut off may be the only one that has
// it: it counts when a write on top of it was acknowledged.
func TestReadBackIsNoAcknowledgement(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s := holder(t, p)
	id, token := s.held[0].id, s.held[0].partition.Token
	c := cluster.FinishPartition{Partition: id, Token: token, Outcome: cluster.OutcomeDone}
	s.try(c)
	x := s.tries[0]
	x.docs = p.get(needs(c)...)
	s.decide(0, x)
	put := s.tries[0].put
	if put.Key != partitionKey(id) || len(s.deeds) != 0 {
		t.Fatalf("it writes %+v and has done %v, want the partition and nothing done", put, s.deeds)
	}
	s.tryWritten(Written{ID: s.tries[0].id, Outcome: outbox.Unknown})
	over := put.Version
	put.Version = "of the copy"
	x = s.tries[0]
	x.docs = []store.Doc{put}
	s.decide(0, x)
	if len(s.deeds) != 0 || len(s.tries) != 1 {
		t.Fatalf("what was read back has counted: %+v", s.deeds)
	}
	again := s.tries[0].put
	if again.Version != "of the copy" || string(again.Value) == string(put.Value) {
		t.Errorf("it writes %+v, want the same under another name on top of it", again)
	}
	s.tryWritten(Written{ID: s.tries[0].id, Outcome: outbox.Refused})
	x = s.tries[0]
	x.docs = p.get(needs(c)...)
	s.decide(0, x)
	if got := s.tries[0].put; got.Version != over || len(s.deeds) != 0 {
		t.Errorf("after a conflict it writes over %q, want %q: decided once more", got.Version, over)
	}
	s.tryWritten(Written{ID: s.tries[0].id, Outcome: outbox.Done, Version: "9"})
	if len(s.deeds) != 1 || !s.deeds[0].Result.Accepted {
		t.Errorf("it was acknowledged, and %+v was done", s.deeds)
	}
}

// TestFenceIsProved: a fence that is read may never have been acknowledged. Its session is taken out after it was written once more.
func TestFenceIsProved(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	inc := p.join("b/n-0")
	p.fence("b/n-0")
	c := cluster.LeaveCluster{Member: "b", Incarnation: inc}
	key := nodeKey("b/n-0")
	v := decide(c, learn(p.get(keyNodes, keyConfig)), writer{session: "a/n-0", write: "1"})
	if len(v.more) != 2 || v.more[0] != keyNodes || v.more[1] != key {
		t.Fatalf("it asks for %v, want the Node List and the heartbeat in one request", v.more)
	}
	docs := p.get(keyNodes, keyConfig, key)
	v = decide(c, learn(docs), writer{session: "a/n-0", write: "1"})
	if !v.again || v.put.Key != key || v.put.Version != p.docs[key].Version {
		t.Fatalf("it does %+v, want the fence to be written over what was read", v)
	}
	v = decide(c, learn(docs), writer{session: "a/n-0", write: "2", proved: nodeKey("another/n-0")})
	if !v.again {
		t.Error("the fence of another session has counted")
	}
	v = decide(c, learn(docs), writer{session: "a/n-0", write: "2", proved: key})
	if !v.result.Accepted || v.again || v.put.Key != keyNodes {
		t.Errorf("the fence was acknowledged: %+v", v)
	}
}

// TestOldReadsTakeNothing: a member does not give up what it holds because a copy that was cut off shows it as it was before. It does after a TTL in which
// nothing else was read.
func TestOldReadsTakeNothing(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s := holder(t, p)
	s.Params.TTL, s.Rho, s.Poll, s.At = 10*time.Second, 50, time.Second, 1000
	id := s.held[0].id
	key := partitionKey(id)
	x, _ := learn(p.all()).of(key)
	x.doc.Holder, x.doc.By, x.doc.Token = "", 0, x.doc.Token-1
	x.partition.Owner, x.partition.State, x.partition.Token = "", cluster.PartitionWaiting, x.doc.Token
	x.doc.Task = x.partition.Encode()
	before := written(key, "", x.doc)
	before.Version = "of the copy"
	s.ownSeen(before, id)
	s.ownReadBack([]store.Doc{before}, id)
	if len(s.held) != 1 || s.held[0].version == before.Version {
		t.Fatalf("it holds %+v after an old read", s.held)
	}
	missing := []store.Doc{{Key: key}}
	for range 10 {
		s.ownReadBack(missing, id)
		s.At = s.At.Add(time.Second)
	}
	if len(s.held) != 1 {
		t.Fatal("it has given up what was missing for less than a TTL")
	}
	s.At = s.held[0].next - 1
	s.held[0].partition.State = cluster.PartitionReleasing
	if s.tell(); len(s.tries) != 0 {
		t.Error("it says the same again at once")
	}
	s.At = s.At.Add(time.Second)
	s.ownReadBack(missing, id)
	if len(s.held) != 0 {
		t.Errorf("it holds %+v, which was missing for longer than a TTL", s.held)
	}
}
