package lease

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// lister is a job x whose partition list names items, as member a runs it.
func (p *paper) lister() (a cluster.Incarnation, advance func(step int64, done []string, items ...string)) {
	p.t.Helper()
	a = p.join("a/1")
	p.offer("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}})
	token := p.claim("x#list", "a/1", a)
	return a, func(step int64, done []string, items ...string) {
		p.t.Helper()
		c := cluster.AdvanceWindow{Partition: "x#list", Token: token, Step: step, Done: done}
		for _, k := range items {
			c.Items = append(c.Items, cluster.Item{Key: k})
		}
		p.must(c, "a/1")
	}
}

// make makes what is listed, and carries nothing out beyond that: a pass writes the document, the next one sees it, and
// another one lets it be claimed.
func (p *paper) make() {
	p.t.Helper()
	for i := range 3 {
		p.land(p.read(fmt.Sprint("make-", i, "-", p.n), ""))
	}
}

// TestAnItemIsListedAndDoneInOnePass: both are said before a pass has carried out the first. The item goes, and does
// not appear again.
func TestAnItemIsListedAndDoneInOnePass(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a, advance := p.lister()
	advance(0, nil, "i")
	p.make()
	token := p.claim("x#i", "a/1", a)
	p.must(cluster.FinishPartition{Partition: "x#i", Token: token}, "a/1")
	advance(1, []string{"i"})
	p.pass()
	if _, ok := p.docs[partitionKey("x#i")]; ok {
		t.Error("an item that was done has a document")
	}
	if x, _ := learn(p.all()).of(partitionKey("x#list")); len(x.said) != 0 {
		t.Errorf("what was carried out is kept: %v", x.said)
	}
	advance(2, nil, "j")
	p.make()
	p.must(cluster.FinishPartition{Partition: "x#j", Token: p.claim("x#j", "a/1", a)}, "a/1")
	advance(3, []string{"j"})
	advance(4, nil, "j") // listed again: it is another run of it
	p.pass()
	if _, ok := p.docs[partitionKey("x#j")]; !ok {
		t.Error("an item that was listed again has no document")
	}
}

// TestADecisionNeedsTwoSurveys: a survey reads the window, and then the item that another leader has made late
// meanwhile: it was done and gone. Nothing is decided by that survey. The next one reads the window after it has seen
// the item.
func TestADecisionNeedsTwoSurveys(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a, advance := p.lister()
	advance(0, nil, "i")
	late, window := p.read("late", ""), p.docs[partitionKey("x#list")]
	p.pass()
	p.must(cluster.FinishPartition{Partition: "x#i", Token: p.claim("x#i", "a/1", a)}, "a/1")
	advance(1, []string{"i"})
	p.pass()
	p.land(late)
	mixed := append(p.all(), window) // of a document that was read twice the last counts
	pass := newPass(learn(mixed), 0, "mixed", former{})
	if got := pass.writes(); slices.ContainsFunc(got,
		func(w leadWrite) bool { return w.doc.Key == partitionKey("x#i") }) {
		t.Errorf("it writes %+v", got)
	}
	p.land(newPass(learn(p.all()), 0, "next", former{listed: pass.making}).writes())
	if _, there := p.docs[partitionKey("x#i")]; there || len(pass.making) != 1 {
		t.Errorf("it has found %+v, and the item is there: %t", pass.making, there)
	}
}

// TestAPassIsCutOff: its leader dies after it has written the list, and before it has taken out the item that is done.
// The next one does.
func TestAPassIsCutOff(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a, advance := p.lister()
	advance(0, nil, "i")
	p.pass()
	p.must(cluster.FinishPartition{Partition: "x#i", Token: p.claim("x#i", "a/1", a)}, "a/1")
	advance(1, []string{"i"})
	p.land(slices.DeleteFunc(p.read("one", ""), func(w leadWrite) bool { return w.remove }))
	p.pass()
	if _, ok := p.docs[partitionKey("x#i")]; ok {
		t.Error("an item that was done stays")
	}
}

// TestAJobComesBackWhileItRuns: it is killed and submitted again before its holder has stopped. The holder is told to
// stop. Nobody else gets the partition before it has, and the next token is larger.
func TestAJobComesBackWhileItRuns(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{false, true} { // by the leader, between the two
		p := newPaper(t)
		a, b := p.join("a/1"), p.join("b/1")
		p.offer("x", cluster.TaskSpec{})
		token := p.claim("x", "a/1", a)
		p.must(cluster.KillJob{Job: "x"}, "")
		if seen {
			p.pass()
		}
		p.submit("x", cluster.TaskSpec{})
		if board := p.pass(); len(board.Free) != 0 || len(board.Stop) != 1 || board.Stop[0] != (boardStop{"x", token}) {
			t.Fatalf("seen %t: while the former run lasts: %+v", seen, board)
		}
		p.must(cluster.Stopped{Partition: "x", Token: token}, "a/1")
		if board := newPass(learn(p.all()), 0, "one", former{}).board(); len(board.Free) != 0 {
			t.Errorf("seen %t: its document is of the former job, and the board offers it: %+v", seen, board.Free)
		}
		p.pass()
		if next := p.claim("x", "b/1", b); next <= token {
			t.Errorf("seen %t: token %d after %d", seen, next, token)
		}
	}
}

// TestAChildComesBackWhileItRuns: as above, and it is a split that asks for the partition.
func TestAChildComesBackWhileItRuns(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a := p.join("a/1")
	task := cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"p"}}
	split := func() cluster.Token {
		p.offer("x", task)
		token := p.claim("x#p", "a/1", a)
		p.must(cluster.SplitPartition{Partition: "x#p", Token: token,
			Children: []cluster.Child{{Key: "m", Parents: []string{"p"}}}}, "a/1")
		p.pass()
		return token
	}
	p.must(cluster.FinishPartition{Partition: "x#p", Token: split()}, "a/1")
	p.pass()
	token := p.claim("x#m", "a/1", a)
	p.must(cluster.KillJob{Job: "x"}, "")
	split()
	if x, _ := learn(p.all()).of(partitionKey("x#m")); x.doc.Holder != "a/1" || x.doc.Token != token {
		t.Errorf("its document is %+v while its holder lives", x.doc)
	}
	p.must(cluster.Stopped{Partition: "x#m", Token: token}, "a/1")
	p.pass()
	if q, _ := p.value().Partition("x#m"); q.Owner != "" || q.Dropped || q.Token <= token {
		t.Errorf("after it has stopped: %+v", q)
	}
}

// TestTokensOfManyClaims: a partition was claimed more often than its job has numbers of its own. Its tokens grow all
// the same when the job comes back.
func TestTokensOfManyClaims(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("a/1")
	p.offer("x", cluster.TaskSpec{})
	x, _ := learn(p.all()).of(partitionKey("x"))
	x.doc.Token, x.partition.Token = firstToken(1000), firstToken(1000)
	x.doc.Task = x.partition.Encode()
	p.put(written(x.key, p.docs[x.key].Version, x.doc))
	p.must(cluster.KillJob{Job: "x"}, "")
	p.offer("x", cluster.TaskSpec{})
	if x, _ := learn(p.all()).of(partitionKey("x")); x.doc.Token < firstToken(1000) {
		t.Errorf("token %d after %d", x.doc.Token, firstToken(1000))
	}
}

// TestReadBackIsNoAcknowledgement: the outcome of a write is unknown, and a read shows it. A copy of the store that was
// cut off may be the only one that has it: it counts when a write on top of it was acknowledged.
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
	other := attempt{put: put, docs: []store.Doc{{Key: put.Key, Version: "of another", Value: []byte("{}")}}}
	if other.stored() {
		t.Error("what another has written counts as ours")
	}
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

// TestTheLockIsTriedAgainLater: a store that refuses a write is not asked without a pause.
func TestTheLockIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	s := holder(t, newPaper(t))
	s.Poll, s.look.lock = time.Second, call{busy: true, id: 7}
	s.written(Written{ID: 7, Outcome: outbox.Refused})
	if got := s.look.lock; got.busy || got.next != s.At.Add(time.Second) {
		t.Errorf("the next write is at %v: %+v", got.next, got)
	}
}

// TestFenceIsProved: a fence that is read may never have been acknowledged. Its session is taken out after it was
// written once more.
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

// TestOldReadsTakeNothing: a member does not give up what it holds because a copy that was cut off shows it as it was
// before. It does after a TTL in which nothing else was read.
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
	s.ownReadBack([]store.Doc{before}, id, false)
	if len(s.held) != 1 || s.held[0].version == before.Version {
		t.Fatalf("it holds %+v after an old read", s.held)
	}
	missing := []store.Doc{{Key: key}}
	for range 10 {
		s.ownReadBack(missing, id, false)
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
	s.ownReadBack(missing, id, false)
	if len(s.held) != 0 {
		t.Errorf("it holds %+v, which was missing for longer than a TTL", s.held)
	}
}
