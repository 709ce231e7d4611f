package lease

import (
	"slices"
	"testing"

	"github.com/rota-run/rota/cluster"
)

// lister is a job x whose partition list names items, as member a runs it.
func (p *paper) lister() (a cluster.Incarnation, advance func(step int64, done []string, items ...string)) {
	p.t.Helper()
	a = p.join("a/1")
	p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}})
	p.pass()
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

// TestAnItemIsListedAndDoneInOnePass: both are said before a pass has carried out the first. The item goes, and does not appear again.
func TestAnItemIsListedAndDoneInOnePass(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a, advance := p.lister()
	advance(0, nil, "i")
	p.land(p.read("one", ""))
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
	p.land(p.read("two", ""))
	p.must(cluster.FinishPartition{Partition: "x#j", Token: p.claim("x#j", "a/1", a)}, "a/1")
	advance(3, []string{"j"})
	advance(4, nil, "j") // listed again: it is another run of it
	p.pass()
	if _, ok := p.docs[partitionKey("x#j")]; !ok {
		t.Error("an item that was listed again has no document")
	}
}

// TestAPassIsCutOff: its leader dies after it has written the list, and before it has taken out the item that is done. The next one does.
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

// TestAJobComesBackWhileItRuns: it is killed and submitted again before its holder has stopped. The holder is told to stop. Nobody else gets the partition before
// it has, and the next token is larger.
func TestAJobComesBackWhileItRuns(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{false, true} { // by the leader, between the two
		p := newPaper(t)
		a, b := p.join("a/1"), p.join("b/1")
		p.submit("x", cluster.TaskSpec{})
		p.pass()
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
		if board := newPass(learn(p.all()), 0, "one", "").board(); len(board.Free) != 0 {
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
		p.submit("x", task)
		p.pass()
		token := p.claim("x#p", "a/1", a)
		p.must(cluster.SplitPartition{Partition: "x#p", Token: token, Children: []cluster.Child{{Key: "m", Parents: []string{"p"}}}}, "a/1")
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

// TestTokensOfManyClaims: a partition was claimed more often than its job has numbers of its own. Its tokens grow all the same when the job comes back.
func TestTokensOfManyClaims(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("a/1")
	p.submit("x", cluster.TaskSpec{})
	p.pass()
	x, _ := learn(p.all()).of(partitionKey("x"))
	x.doc.Token, x.partition.Token = firstToken(1000), firstToken(1000)
	x.doc.Task = x.partition.Encode()
	p.put(written(x.key, p.docs[x.key].Version, x.doc))
	p.must(cluster.KillJob{Job: "x"}, "")
	p.submit("x", cluster.TaskSpec{})
	p.pass()
	if x, _ := learn(p.all()).of(partitionKey("x")); x.doc.Token < firstToken(1000) {
		t.Errorf("token %d after %d", x.doc.Token, firstToken(1000))
	}
}
