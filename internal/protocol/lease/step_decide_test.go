package lease

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/store"
)

// paper is a store of documents without time.
type paper struct {
	t      *testing.T
	docs   map[string]store.Doc
	n      int
	index  cluster.Index // that the next command has in hand
	atMS   int64         // wall clock
	known  *facts        // by the last look
	listed []listing     // by the last pass that was read
}

func newPaper(t *testing.T) *paper {
	return &paper{t: t, docs: make(map[string]store.Doc), known: &facts{}}
}

// put writes a document if its version is current.
func (p *paper) put(d store.Doc) bool {
	if p.docs[d.Key].Version != d.Version {
		return false
	}
	p.n++
	d.Version = store.Version(fmt.Sprint(p.n))
	p.docs[d.Key] = d
	p.value()
	return true
}

func (p *paper) get(keys ...string) (out []store.Doc) {
	for _, k := range keys {
		d := p.docs[k]
		d.Key = k
		out = append(out, d)
	}
	return out
}

func (p *paper) all() []store.Doc { return p.get(slices.Sorted(maps.Keys(p.docs))...) }

// verdict decides a command as far as the write of its deciding document, which it does not make.
func (p *paper) verdict(c cluster.Command, by string) verdict {
	p.t.Helper()
	docs, w := p.get(needs(c)...), writer{session: by, write: fmt.Sprintf("%s-%d", by, p.n), index: p.index,
		atMS: p.atMS}
	p.index = 0
	for {
		v := decide(c, learn(docs), w)
		switch {
		case v.more != nil:
			docs = append(docs, p.get(v.more...)...)
			continue
		case v.index != 0 || v.again:
			if !p.put(v.put) {
				p.t.Fatal("a write of a moment ago conflicts")
			}
			if w.index = v.index; v.again {
				w.proved = v.put.Key
			}
			docs = p.get(needs(c)...)
			continue
		}
		return v
	}
}

// do decides a command and writes.
func (p *paper) do(c cluster.Command, by string) cluster.Result {
	p.t.Helper()
	v := p.verdict(c, by)
	if v.err != nil {
		return cluster.Result{Reason: v.err.Error()}
	}
	if v.put.Key != "" && !p.put(v.put) {
		p.t.Fatal("a write of a moment ago conflicts")
	}
	return v.result
}

func (p *paper) must(c cluster.Command, by string) {
	p.t.Helper()
	if r := p.do(c, by); !r.Accepted {
		p.t.Fatalf("%v by %s: %s", c, by, r.Reason)
	}
}

// refuses expects that a command does nothing.
func (p *paper) refuses(c cluster.Command, by, why string) {
	p.t.Helper()
	n := p.n
	if r := p.do(c, by); r.Accepted || !strings.Contains(r.Reason, why) || p.n != n {
		p.t.Errorf("%v by %s: %+v, want a refusal with %q and no write", c, by, r, why)
	}
}

// join brings a session into the Node List.
func (p *paper) join(session string) cluster.Incarnation {
	p.t.Helper()
	p.put(written(nodeKey(session), "", nodeDoc{Text: heartbeat.Text{State: heartbeat.Live}}))
	id, _, _ := strings.Cut(session, "/")
	replaces := cluster.Incarnation(0)
	if m, ok := p.value().Member(cluster.MemberID(id)); ok {
		replaces = m.Incarnation
	}
	p.must(cluster.PrepareJoin{Member: cluster.MemberID(id), Heartbeat: nodeKey(session), Slots: 2, Replaces: replaces},
		session)
	m, _ := p.value().Member(cluster.MemberID(id))
	if m.State != cluster.MemberJoined {
		p.t.Fatalf("%s is %s", id, m.State)
	}
	return m.Incarnation
}

func (p *paper) fence(session string) {
	d := p.docs[nodeKey(session)]
	p.put(written(d.Key, d.Version, nodeDoc{Text: heartbeat.Text{State: heartbeat.Fenced}}))
}

// value is made from what has changed since the last look, and must be the one that is made from all documents.
func (p *paper) value() cluster.Value {
	p.t.Helper()
	f, all := p.known.learn(p.all()), learn(p.all()).value()
	f.assemble(p.known)
	p.known = f
	if v := f.value(); v.Digest() != all.Digest() || v.String() != all.String() {
		p.t.Fatalf("assembled from what has changed:\n%s\nand from all:\n%s", v, all)
	}
	return all
}

// pass does what a leader does, until nothing differs.
func (p *paper) pass() boardDoc {
	p.t.Helper()
	was := former{}
	for range 20 {
		pass := newPass(learn(p.all()), 0, fmt.Sprint("pass-", p.n), was)
		writes := pass.writes()
		for _, w := range writes {
			if w.remove {
				delete(p.docs, w.doc.Key)
			} else {
				p.put(w.doc)
			}
		}
		if len(writes) == 0 && pass.making == nil {
			return pass.board()
		}
		if was = (former{listed: pass.making}); len(pass.layouts) > 0 {
			was.laid = pass.name
		}
	}
	p.t.Fatal("the leader does not come to rest")
	return boardDoc{}
}

func (p *paper) submit(id cluster.JobID, task cluster.TaskSpec) {
	p.t.Helper()
	task.Type = "noop"
	p.must(cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}}, "")
}

// offer submits a job, and lets a leader offer its partitions.
func (p *paper) offer(id cluster.JobID, task cluster.TaskSpec) {
	p.t.Helper()
	p.submit(id, task)
	p.pass()
}

// claim claims a partition as it is now.
func (p *paper) claim(id cluster.PartitionID, session string, inc cluster.Incarnation) cluster.Token {
	p.t.Helper()
	member, _, _ := strings.Cut(session, "/")
	f, _ := learn(p.all()).of(partitionKey(id))
	p.must(cluster.Claim{Partition: id, Token: f.doc.Token, Member: cluster.MemberID(member), Incarnation: inc},
		session)
	f, _ = learn(p.all()).of(partitionKey(id))
	return f.doc.Token
}

// TestOnlyTheFencedAreTakenOver: a session that may still be renewed is neither removed nor replaced, and what it holds
// is not free.
func TestOnlyTheFencedAreTakenOver(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a, b := p.join("a/1"), p.join("b/1")
	p.offer("x", cluster.TaskSpec{})
	token := p.claim("x", "a/1", a)
	p.refuses(cluster.LeaveCluster{Member: "a", Incarnation: a}, "b/1", "not been fenced")
	p.refuses(cluster.PrepareJoin{Member: "a", Heartbeat: "node/a/2", Replaces: a}, "a/2", "not been fenced")
	p.refuses(cluster.Claim{Partition: "x", Token: token, Member: "b", Incarnation: b}, "b/1", "it is granted")
	p.fence("a/1")
	p.refuses(cluster.Claim{Partition: "x", Token: token, Member: "b", Incarnation: b}, "b/1", "it is granted")
	p.must(cluster.LeaveCluster{Member: "a", Incarnation: a}, "b/1")
	if next := p.claim("x", "b/1", b); next <= token {
		t.Errorf("token %d after %d", next, token)
	}
}

// TestFormerHolderChangesNothing: unlock, done and failure of a holder that was taken over are refused; so is the claim
// of a session that has ended.
func TestFormerHolderChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a, b := p.join("a/1"), p.join("b/1")
	p.offer("x", cluster.TaskSpec{})
	token := p.claim("x", "a/1", a)
	p.fence("a/1")
	p.must(cluster.LeaveCluster{Member: "a", Incarnation: a}, "b/1")
	p.claim("x", "b/1", b)
	p.refuses(cluster.FinishPartition{Partition: "x", Token: token}, "a/1", "token")
	p.refuses(cluster.FinishPartition{Partition: "x", Token: token, Outcome: cluster.OutcomeFailed}, "a/1", "token")
	p.refuses(cluster.Stopped{Partition: "x", Token: token}, "a/1", "not being released")
	p.offer("y", cluster.TaskSpec{})
	f, _ := learn(p.all()).of(partitionKey("y"))
	p.refuses(cluster.Claim{Partition: "y", Token: f.doc.Token, Member: "a", Incarnation: a}, "a/1", "another session")
}

// TestClaimThatLandsLate: a claim whose outcome its maker never learned is stored after the maker lost its session.
// Nobody holds the partition by it.
func TestClaimThatLandsLate(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a, b := p.join("a/1"), p.join("b/1")
	p.offer("x", cluster.TaskSpec{})
	late := p.verdict(cluster.Claim{Partition: "x", Token: firstToken(1), Member: "a", Incarnation: a}, "a/1")
	if late.put.Key == "" {
		t.Fatalf("refused: %+v", late)
	}
	p.fence("a/1")
	p.must(cluster.LeaveCluster{Member: "a", Incarnation: a}, "b/1")
	if !p.put(late.put) {
		t.Fatal("it conflicts: the story is another one")
	}
	again := p.join("a/2") // the same name in another session holds nothing by it
	if x, _ := p.value().Partition("x"); x.Owner != "" {
		t.Fatalf("held by %s", x.Owner)
	}
	if token := p.claim("x", "b/1", b); token != firstToken(1)+2 {
		t.Errorf("token %d, want that of the second claim", token)
	}
	p.refuses(cluster.Claim{Partition: "x", Token: firstToken(1), Member: "a", Incarnation: again}, "a/2",
		"claimed since")
}

// TestTwoLeadersDeleteAndCreate: a paused leader creates again, by what it once read, what another one has removed
// since; the former holder writes done.
func TestTwoLeadersDeleteAndCreate(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a := p.join("a/1")
	p.submit("x", cluster.TaskSpec{})
	paused := newPass(learn(p.all()), 0, "paused", former{}).writes() // it has read that x is to be made
	p.pass()
	token := p.claim("x", "a/1", a)
	p.must(cluster.KillJob{Job: "x"}, "")
	p.pass()
	p.refuses(cluster.FinishPartition{Partition: "x", Token: token + 1}, "a/1", "token")
	p.must(cluster.Stopped{Partition: "x", Token: token}, "a/1")
	p.pass()
	if _, ok := p.docs[partitionKey("x")]; ok {
		t.Fatal("the partition of a killed job is still there")
	}
	for _, w := range paused {
		p.put(w.doc)
	}
	if _, ok := p.docs[partitionKey("x")]; !ok {
		t.Fatal("nothing rises: the story is another one")
	}
	p.refuses(cluster.Claim{Partition: "x", Token: firstToken(1), Member: "a", Incarnation: a}, "a/1", "job has ended")
	p.submit("x", cluster.TaskSpec{})
	p.refuses(cluster.Claim{Partition: "x", Token: firstToken(1), Member: "a", Incarnation: a}, "a/1",
		"former submission")
	p.pass()
	if next := p.claim("x", "a/1", a); next <= token {
		t.Errorf("token %d after %d, though the job was submitted again", next, token)
	}
}

// TestTokenSurvivesAbsence: a partition of spread every goes with its member and comes back with it, under a larger
// token.
func TestTokenSurvivesAbsence(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("a/1")
	b := p.join("b/1")
	p.offer("x", cluster.TaskSpec{Spread: cluster.SpreadEvery})
	token := p.claim("x#b", "b/1", b)
	p.fence("b/1")
	p.must(cluster.LeaveCluster{Member: "b", Incarnation: b}, "a/1")
	p.pass()
	if _, ok := p.value().Partition("x#b"); ok {
		t.Fatal("it is there without its member")
	}
	b = p.join("b/2")
	p.pass()
	if next := p.claim("x#b", "b/2", b); next <= token {
		t.Errorf("token %d after %d", next, token)
	}
}

// TestSplitIsCarriedOutOnce: children come by the leader's pass, run when their parent is done, and the job is complete
// with them.
func TestSplitIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a := p.join("a/1")
	p.offer("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"p"}})
	token := p.claim("x#p", "a/1", a)
	p.must(cluster.SplitPartition{Partition: "x#p", Token: token,
		Children: []cluster.Child{{Key: "l", Parents: []string{"p"}}, {Key: "r", Parents: []string{"p"}}}}, "a/1")
	p.must(cluster.FinishPartition{Partition: "x#p", Token: token}, "a/1") // before any leader has seen the split
	if b := p.pass(); len(b.Free) != 2 {
		t.Fatalf("free: %+v", b.Free)
	}
	for _, id := range []cluster.PartitionID{"x#l", "x#r"} {
		p.must(cluster.FinishPartition{Partition: id, Token: p.claim(id, "a/1", a)}, "a/1")
	}
	p.pass()
	if j, _ := p.value().Job("x"); j.State != cluster.JobCompleted {
		t.Errorf("the job is %s", j.State)
	}
}

// TestWindow: items are listed, done and taken out; an item that was taken out does not appear again, though two steps
// are carried out at once.
func TestWindow(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a := p.join("a/1")
	p.offer("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}})
	token := p.claim("x#list", "a/1", a)
	step := func(n int64, done []string, items ...string) {
		t.Helper()
		c := cluster.AdvanceWindow{Partition: "x#list", Token: token, Step: n, Cursor: []byte(fmt.Sprint(n)),
			Done: done}
		for _, k := range items {
			c.Items = append(c.Items, cluster.Item{Key: k, Input: []byte(k)})
		}
		p.must(c, "a/1")
	}
	step(0, nil, "i", "j")
	p.pass()
	first := p.claim("x#i", "a/1", a)
	p.must(cluster.FinishPartition{Partition: "x#i", Token: first}, "a/1")
	step(1, []string{"i"}, "k")
	p.pass()
	if _, ok := p.docs[partitionKey("x#i")]; ok {
		t.Error("an item that was taken out has a document")
	}
	if got := p.value(); got.InHandover() != 0 {
		t.Error("something moves")
	}
	step(2, nil, "i") // listed again: it is another run of it
	p.pass()
	if next := p.claim("x#i", "a/1", a); next <= first {
		t.Errorf("token %d after %d", next, first)
	}
	p.refuses(cluster.AdvanceWindow{Partition: "x#list", Token: token, Step: 1}, "a/1", "step")
}

// TestSlots: the slots of a task that is repartitioned are all given up before others are given out, and a finished
// task is finished for all of them.
func TestSlots(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a := p.join("a/1")
	p.offer("x", cluster.TaskSpec{Spread: cluster.SpreadPool, Repartition: true})
	one, two := p.claim("x#a:1", "a/1", a), p.claim("x#a:2", "a/1", a)
	b := p.join("b/1")
	if board := p.pass(); len(board.Free) != 0 || len(board.Stop) != 2 {
		t.Fatalf("while the former ones run: %+v", board)
	}
	p.must(cluster.Stopped{Partition: "x#a:1", Token: one}, "a/1")
	if board := p.pass(); len(board.Free) != 0 {
		t.Fatalf("one has not stopped: %+v", board)
	}
	p.must(cluster.Stopped{Partition: "x#a:2", Token: two}, "a/1")
	board := p.pass()
	if len(board.Free) != 4 || !board.Free[0].Only || board.Free[0].Slot == 0 {
		t.Fatalf("all have stopped: %+v", board)
	}
	p.refuses(cluster.Claim{Partition: "x#a:1", Token: one, Member: "b", Incarnation: b}, "b/1", "it is for a")
	p.must(cluster.FinishPartition{Partition: "x#b:1", Token: p.claim("x#b:1", "b/1", b)}, "b/1")
	p.pass()
	if j, _ := p.value().Job("x"); j.State != cluster.JobCompleted {
		t.Errorf("the job is %s", j.State)
	}
}

// TestColdRestart: after all were killed, documents alone bring back jobs, settings, and who may run what.
func TestColdRestart(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a, b := p.join("a/1"), p.join("b/1")
	p.must(cluster.Configure{Retention: 7}, "")
	p.offer("x", cluster.TaskSpec{})
	token := p.claim("x", "b/1", b)
	p.fence("a/1")
	p.fence("b/1")
	p.must(cluster.LeaveCluster{Member: "b", Incarnation: b}, "c/1")
	a2 := p.join("a/2")
	v := p.value()
	if _, ok := v.Job("x"); !ok || v.Settings().Retention != 7 || a2 <= a {
		t.Fatalf("incarnation %d after %d, value:\n%v", a2, a, v)
	}
	p.pass()
	if next := p.claim("x", "a/2", a2); next <= token {
		t.Errorf("token %d after %d", next, token)
	}
}

// TestDamagedDocuments: what is damaged or foreign decides nothing, and is never written over.
func TestDamagedDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "{}", `{"holder":"a/1","task":"AAAA","token":7}`} {
		p := newPaper(t)
		a := p.join("a/1")
		p.put(store.Doc{Key: partitionKey("x"), Value: []byte(text)})
		p.offer("x", cluster.TaskSpec{})
		if got := string(p.docs[partitionKey("x")].Value); got != text {
			t.Errorf("%q became %q", text, got)
		}
		p.refuses(cluster.Claim{Partition: "x", Token: firstToken(1), Member: "a", Incarnation: a}, "a/1",
			"damaged or foreign")
	}
}

// TestAJobIsReadable: the document of a job has its tasks as text, but for a definition that is no JSON, or too long to
// be there twice.
func TestAJobIsReadable(t *testing.T) {
	t.Parallel()
	long := []byte(`{"config":"` + strings.Repeat("x", maxText) + `"}`)
	j := cluster.Job{Spec: &cluster.JobSpec{Tasks: []cluster.TaskSpec{
		{Name: "a", Type: "tail", Definition: []byte(`{"every":"1s"}`)}, {Name: "b", Type: "t", Definition: long},
		{Name: "c", Type: "t", Definition: []byte("{")},
	}}}
	d := written("job/x", "", jobDoc{Tasks: textsOf(j)})
	want := `"tasks":[{"name":"a","type":"tail","definition":{"every":"1s"}},{"name":"b","type":"t"},{"name":"c","type":"t"}]`
	if !strings.Contains(string(d.Value), want) {
		t.Errorf("it has %s", d.Value)
	}
}
