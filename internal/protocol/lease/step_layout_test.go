package lease

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// read is a pass over what there is now; its writes come later.
func (p *paper) read(name, laid string) []leadWrite {
	return newPass(learn(p.all()), 0, name, laid).writes()
}

// land does writes; those that are not conditional on what is there now do nothing.
func (p *paper) land(writes []leadWrite) {
	for _, w := range writes {
		if w.remove && p.docs[w.doc.Key].Version == w.doc.Version {
			delete(p.docs, w.doc.Key)
		} else if !w.remove {
			p.put(w.doc)
		}
	}
}

// TestSharesOfAFormerLayout: a leader's offers are on their way when another leader lays the shares out anew, for more slots. They land before it writes, or
// between its layout and its own offers. No share of the one runs beside one of the other.
func TestSharesOfAFormerLayout(t *testing.T) {
	t.Parallel()
	for _, when := range []int{0, 1} {
		p := newPaper(t)
		a := p.join("a/1")
		p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPool, Repartition: true})
		p.land(p.read("one", ""))
		late := p.read("late", "one")
		b := p.join("b/1")
		for i, w := range []struct{ name, laid string }{{"two", ""}, {"three", "two"}} {
			writes := p.read(w.name, w.laid)
			if i == when {
				p.land(late)
				if x, ok := learn(p.all()).of(partitionKey("x#a:1")); !ok || x.partition.Count != 2 {
					t.Fatalf("nothing lands: the story is another one")
				}
			}
			p.land(writes)
		}
		counts := make(map[int64]bool)
		for _, id := range []cluster.PartitionID{"x#a:1", "x#a:2", "x#b:1", "x#b:2"} {
			member, by, inc := cluster.MemberID("a"), "a/1", a
			if id[2] == 'b' {
				member, by, inc = "b", "b/1", b
			}
			if p.do(cluster.Claim{Partition: id, Token: firstToken(1), Member: member, Incarnation: inc}, by).Accepted {
				x, _ := p.value().Partition(id)
				counts[x.Count] = true
			}
		}
		if len(counts) > 1 || counts[2] {
			t.Errorf("the former shares land at step %d: shares of %v slots run at once", when, counts)
		}
	}
}

// TestOldListLaysOutNothing: a share runs, and a new leader's list does not show it. It offers no other one, though the slot of another member comes first.
func TestOldListLaysOutNothing(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s, inc := ruler(t, p)
	p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPool, Repartition: true, Max: 1})
	old := p.all()
	for range 3 {
		s.passes(t, p, p.all())
	}
	p.claim("x#a:1", s.Session(), inc)
	p.join("0/1")
	next := &step{State: s.State}
	next.lead, next.known = lead{}, learn(old)
	next.lead.take(1)
	for range 4 {
		for _, key := range next.passes(t, p, old) {
			if x, _ := learn(p.all()).of(key); x.partition.Offered {
				t.Errorf("it offers %s beside shares that run", x.partition.ID)
			}
		}
	}
}

// gaps is the paper without requests for several documents: between two of them something happens.
type gaps struct {
	lagging
	left    int // requests until then
	happens func()
}

func (g *gaps) Get(_ context.Context, key string) (store.Doc, error) {
	if g.left--; g.left == 0 {
		g.happens()
	}
	d := g.get(key)[0]
	if d.Version == "" {
		return d, store.ErrNotFound
	}
	return d, nil
}

// TestASurveyIsNotOneInstant: between two requests of a survey a member joins and claims, or a job is submitted again. Whoever holds a partition by then keeps it.
func TestASurveyIsNotOneInstant(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(p *paper, a cluster.Incarnation){
		"a member joins and claims": func(p *paper, _ cluster.Incarnation) {
			p.claim("x", "b/1", p.join("b/1"))
		},
		"a job is submitted again": func(p *paper, a cluster.Incarnation) {
			p.must(cluster.KillJob{Job: "x"}, "")
			p.pass()
			p.submit("x", cluster.TaskSpec{})
			p.pass()
			p.claim("x", "a/1", a)
		},
	} {
		for at := range 6 {
			p := newPaper(t)
			a := p.join("a/1")
			p.submit("x", cluster.TaskSpec{})
			p.pass()
			store := struct{ store.Docs }{&gaps{lagging: lagging{paper: p}, left: at, happens: func() { happens(p, a) }}}
			docs, _, err := surveyAll(context.Background(), store, []string{keyConfig, keyNodes, jobKey("x"), partitionKey("x")}, asListed)
			if err != nil {
				t.Fatal(err)
			}
			now := p.docs[partitionKey("x")].Version
			for _, w := range newPass(learn(docs), 0, "pass", "").writes() {
				if x, _ := p.value().Partition("x"); w.doc.Key == partitionKey("x") && w.doc.Version == now && x.Owner != "" {
					t.Errorf("%s after request %d: the pass writes over what %s holds: %s", name, at, x.Owner, w.doc.Value)
				}
			}
			if x, ok := learn(docs).of(partitionKey("x")); ok && x.doc.Holder != "" && x.doc.Of == p.submitted("x") {
				if v, _ := learn(docs).value().Partition("x"); v.Owner == "" {
					t.Errorf("%s after request %d: %s holds it, and it counts as free", name, at, x.doc.Holder)
				}
			}
		}
	}
}

// submitted is the present submission of a job.
func (p *paper) submitted(id cluster.JobID) cluster.Index {
	j, _ := learn(p.all()).job(id)
	return j.doc.Submitted
}

// TestAnIndexTakenLongBefore: somebody takes an index for a submission and is suspended. Another one submits the job, it runs and ends, and is forgotten
// perhaps. The first wakes: under its old index the tokens of the job would fall.
func TestAnIndexTakenLongBefore(t *testing.T) {
	t.Parallel()
	for _, forgotten := range []bool{false, true} {
		p := newPaper(t)
		a := p.join("a/1")
		p.must(cluster.Configure{Retention: 1}, "")
		submit := cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{{Type: "noop"}}}}
		first := decide(submit, learn(p.get(needs(submit)...)), writer{write: "suspended"})
		if first.index == 0 || !p.put(first.put) {
			t.Fatal("it takes no index: the story is another one")
		}
		p.submit("x", cluster.TaskSpec{})
		p.pass()
		token, submitted := p.claim("x", "a/1", a), p.submitted("x")
		p.must(cluster.FinishPartition{Partition: "x", Token: token}, "a/1")
		for _, id := range []cluster.JobID{"y", "z"}[:map[bool]int{true: 2}[forgotten]] {
			p.pass()
			p.submit(id, cluster.TaskSpec{})
			p.pass()
			p.must(cluster.KillJob{Job: id}, "")
		}
		p.pass()
		if _, there := p.docs[jobKey("x")]; there == forgotten {
			t.Fatalf("its document is there: %t", there)
		}
		p.index = first.index
		p.must(submit, "suspended")
		if again := p.submitted("x"); again <= submitted {
			t.Errorf("forgotten %t: submission %d after %d", forgotten, again, submitted)
		}
		p.pass()
		if next := p.claim("x", "a/1", a); next <= token {
			t.Errorf("forgotten %t: token %d after %d", forgotten, next, token)
		}
	}
}

// lagging is the paper, with a list of its own.
type lagging struct {
	store.Docs
	*paper
	list []store.Doc
}

func (l lagging) Gets(_ context.Context, keys []string) ([]store.Doc, error) {
	return l.get(keys...), nil
}

func (l lagging) List(_ context.Context, prefix string) ([]store.Doc, error) {
	return slices.DeleteFunc(slices.Clone(l.list), func(d store.Doc) bool { return !strings.HasPrefix(d.Key, prefix) }), nil
}

// calls makes the calls of a member to a store, at one instant.
func calls(s store.Docs) *Caller {
	c := &Caller{}
	c.Store, c.Logger, c.Now, c.Wall = s, slog.New(slog.DiscardHandler), func() protocol.Instant { return 1 }, time.Now
	return c
}

// ruler is a leader, and a member too.
func ruler(t *testing.T, p *paper) (*step, cluster.Incarnation) {
	t.Helper()
	s := &step{State: &State{Core: coreIn(member.PhaseMember, member.Params{Member: "a", Nonce: "n"}), known: &facts{}}}
	s.Inc = p.join(s.Session())
	p.put(written(keyLeader, "", leaderDoc{Holder: s.Session(), Term: 1}))
	s.lead.take(1)
	return s, s.Inc
}

// passes lets the leader look at all documents and write what it finds, in a store whose list shows this. By no old document of a window does it go.
func (s *step) passes(t *testing.T, p *paper, list []store.Doc) (wrote []string) {
	t.Helper()
	s.End()
	s.lead.call, s.lead.show, s.lead.writes = call{}, call{}, nil
	s.leadOn()
	fx := s.End()
	e, ok := fx[len(fx)-1].(Survey)
	if !ok {
		t.Fatalf("it does %+v, want a survey", fx)
	}
	c := calls(lagging{paper: p, list: list})
	ev, ok := c.Call(context.Background(), e).(Surveyed)
	if !ok || ev.Err != "" {
		t.Fatalf("the survey is answered by %+v", ev)
	}
	for _, d := range ev.Docs {
		if x, ok := learn([]store.Doc{d}).of(d.Key); ok && len(x.said) > 0 && d.Version != p.docs[d.Key].Version {
			t.Errorf("it goes by version %q of %s, which is at %q", d.Version, d.Key, p.docs[d.Key].Version)
		}
	}
	s.surveyed(Surveyed{Docs: ev.Docs, Old: ev.Old})
	for _, w := range s.lead.writes {
		if strings.HasPrefix(w.doc.Key, jobPrefix) && !w.remove {
			p.put(w.doc)
		}
		if !strings.HasPrefix(w.doc.Key, partitionPrefix) {
			continue
		}
		if !w.remove && p.put(w.doc) {
			wrote = append(wrote, w.doc.Key)
		} else if w.remove && p.docs[w.doc.Key].Version == w.doc.Version {
			delete(p.docs, w.doc.Key)
		}
	}
	return wrote
}

// TestOldListMakesNothing: an old list shows what a window has said, and an item that it named is done and gone since. A write over nothing does not meet
// what was read of the window: the item would run again.
func TestOldListMakesNothing(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s, inc := ruler(t, p)
	by := s.Session()
	p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}})
	s.passes(t, p, p.all())
	token := p.claim("x#list", by, inc)
	p.must(cluster.AdvanceWindow{Partition: "x#list", Token: token, Items: []cluster.Item{{Key: "i"}}}, by)
	old := p.all()
	if got := s.passes(t, p, old); !slices.Equal(got, []string{partitionKey("x#i")}) {
		t.Fatalf("it writes %q, want the item", got)
	}
	s.passes(t, p, p.all()) // what the window said was carried out
	p.must(cluster.FinishPartition{Partition: "x#i", Token: p.claim("x#i", by, inc)}, by)
	p.must(cluster.AdvanceWindow{Partition: "x#list", Token: token, Step: 1, Done: []string{"i"}}, by)
	before := p.all()
	s.passes(t, p, before)
	if _, ok := p.docs[partitionKey("x#i")]; ok {
		t.Fatal("the item was not taken out")
	}
	if got := s.passes(t, p, before); slices.Contains(got, partitionKey("x#i")) { // the list is as old as its own last pass
		t.Errorf("it writes %q", got)
	}
	for _, list := range [][]store.Doc{p.all(), old, old} {
		if got := s.passes(t, p, list); slices.Contains(got, partitionKey("x#i")) {
			t.Errorf("it makes %q again", got)
		}
	}
	next := &step{State: s.State} // what a member has read before it led may be as old as the list
	next.lead, next.known = lead{}, learn(old)
	next.lead.take(1)
	if got := next.passes(t, p, old); slices.Contains(got, partitionKey("x#i")) {
		t.Errorf("the next leader makes %q again", got)
	}
}

// TestOldListCompletesNothing: a list from before a split shows its parent alone, which has finished since. That its children are there is not to be seen for a
// leader that did not make them: the job is not complete.
func TestOldListCompletesNothing(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s, inc := ruler(t, p)
	by := s.Session()
	p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"p"}})
	s.passes(t, p, p.all())
	token := p.claim("x#p", by, inc)
	p.must(cluster.SplitPartition{Partition: "x#p", Token: token, Children: []cluster.Child{{Key: "l", Parents: []string{"p"}}, {Key: "r", Parents: []string{"p"}}}}, by)
	old := p.all()
	s.passes(t, p, old)
	s.passes(t, p, p.all())
	p.must(cluster.FinishPartition{Partition: "x#p", Token: token}, by)
	if x, _ := learn(p.all()).of(partitionKey("x#p")); len(x.said) != 0 {
		t.Fatal("the split was not carried out")
	}
	next := &step{State: s.State}
	next.lead = lead{}
	next.lead.take(1)
	next.passes(t, p, old)
	completes := func() bool {
		return slices.ContainsFunc(next.lead.writes, func(w leadWrite) bool { return w.doc.Key == jobKey("x") })
	}
	if completes() || next.lead.rests {
		t.Errorf("by an old list it writes %+v, and rests: %t", next.lead.writes, next.lead.rests)
	}
	for _, id := range []cluster.PartitionID{"x#l", "x#r"} {
		next.passes(t, p, p.all())
		p.must(cluster.FinishPartition{Partition: id, Token: p.claim(id, by, inc)}, by)
	}
	if next.passes(t, p, p.all()); !completes() {
		t.Error("it does not complete the job when all is done")
	}
}

// Of a document that was read twice the later read counts, in whatever order they came.
func TestLearnKeepsTheLastRead(t *testing.T) {
	t.Parallel()
	doc := func(index cluster.Index, version store.Version) store.Doc {
		return written(keyConfig, version, configDoc{Index: index, Settings: defaults().Encode()})
	}
	for _, docs := range [][]store.Doc{{doc(1, "1"), doc(2, "2")}, {doc(1, "1"), {Key: keyBoard}, doc(2, "2")}, {{Key: keyNodes}, doc(1, "1"), doc(2, "2"), {Key: keyBoard}}} {
		f := learn(docs)
		if f.config.Index != 2 || f.version(keyConfig) != "2" || f.problem(keyConfig) != nil {
			t.Errorf("of %v: index %d, version %s, %v", docs, f.config.Index, f.version(keyConfig), f.problem(keyConfig))
		}
	}
}

// The record of another job under the name of one is damaged, as a partition's is.
func TestJobUnderAnotherName(t *testing.T) {
	t.Parallel()
	j := cluster.Job{ID: "y", Spec: &cluster.JobSpec{Tasks: []cluster.TaskSpec{{Name: "t", Type: "noop"}}}}
	err := learn([]store.Doc{written(jobKey("x"), "1", jobDoc{Job: j.Encode()})}).problem(jobKey("x"))
	if err == nil || !strings.Contains(err.Error(), `the record of "y"`) {
		t.Errorf("got %v", err)
	}
}

// Partitions whose documents have gone are gone, whichever they are.
func TestPartitionsThatHaveGone(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("a/n-0")
	for _, id := range []cluster.JobID{"x", "y", "z"} {
		p.submit(id, cluster.TaskSpec{Type: "noop"})
	}
	for range 3 {
		p.pass()
	}
	for _, id := range []cluster.PartitionID{"z", "x", "y"} {
		if _, ok := p.value().Partition(id); !ok {
			t.Fatalf("%s is not there", id)
		}
		delete(p.docs, partitionKey(id))
		if _, ok := p.value().Partition(id); ok {
			t.Errorf("%s is still there", id)
		}
	}
}
