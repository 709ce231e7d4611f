package lease

import (
	"context"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// read is a pass over what there is now, after the one that was read before; its writes come later.
func (p *paper) read(name, laid string) []leadWrite {
	pass := newPass(learn(p.all()), 0, name, former{laid: laid, listed: p.listed})
	p.listed = pass.making
	return pass.writes()
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

// TestSharesOfAFormerLayout: a leader's offers are on their way when another leader lays the shares out anew, for more
// slots. They land before it writes, or between its layout and its own offers. No share of the one runs beside one of
// the other.
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

// TestOldListLaysOutNothing: a share runs, and a new leader's list does not show it. It offers no other one, though the
// slot of another member comes first.
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

// TestAnOldListShowsThemGone: shares were given up, laid out anew and claimed, before a new leader's first survey or
// after it, and the list shows them as they were. It offers no share beside those that run; those that ran before its
// survey it does not even lay out.
func TestAnOldListShowsThemGone(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		p := newPaper(t)
		s, inc := ruler(t, p)
		p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPool, Repartition: true})
		for range 6 {
			s.passes(t, p, p.all())
		}
		p.join("b/1")
		s.passes(t, p, p.all())
		old := p.all()
		if x, _ := learn(old).of(partitionKey("x#a:1")); x.doc.State != gone {
			t.Fatalf("the share is %q: the story is another one", x.doc.State)
		}
		p.land(p.read("one", ""))
		offers := p.read("offers", "one")
		next := &step{State: s.State}
		next.lead, next.known = lead{}, learn(old)
		next.lead.take(1)
		if late {
			next.surveys(t, p, old)
		}
		p.land(offers)
		p.claim("x#a:1", s.Session(), inc)
		for _, w := range next.lead.writes {
			p.put(w.doc)
		}
		for range 6 {
			for _, key := range next.passes(t, p, old) {
				if x, _ := learn(p.all()).of(key); x.partition.Offered {
					t.Errorf("late %t: it offers %s beside shares that run", late, x.partition.ID)
				}
			}
		}
		if j, _ := learn(p.all()).job("x"); (j.doc.Layouts[""] == "one") == late {
			t.Errorf("late %t: the layout is that of %q", late, j.doc.Layouts[""])
		}
	}
}

// TestAClaimByAnOldRead: between two leaders, an offer of the former one lands late. A member that has read it with the
// former layout may claim it after the new leader has read it: no share of another layout is offered by then. If nobody
// claims it, all shares of the new layout are offered.
func TestAClaimByAnOldRead(t *testing.T) {
	t.Parallel()
	for _, claims := range []bool{true, false} {
		p := newPaper(t)
		a := p.join("a/1")
		p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPool, Repartition: true})
		p.land(p.read("one", ""))
		late := p.read("late", "one")
		b := p.join("b/1")
		two := p.read("two", "")
		p.land(late)
		claim := p.verdict(cluster.Claim{Partition: "x#a:1", Token: firstToken(1), Member: "a", Incarnation: a}, "a/1")
		p.land(two)
		three := p.read("three", "two")
		if claims && !p.put(claim.put) {
			t.Fatalf("the claim does not land: %+v", claim)
		}
		p.land(three)
		if !claims {
			p.pass()
		}
		if r := p.do(cluster.Claim{Partition: "x#b:1", Token: firstToken(1), Member: "b", Incarnation: b},
			"b/1"); r.Accepted == claims {
			t.Errorf("one of the former layout is claimed: %t, and one of the new layout: %t", claims, r.Accepted)
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

// TestASurveyIsNotOneInstant: between two requests of a survey a member joins and claims, or a job is submitted again.
// Whoever holds a partition by then keeps it.
func TestASurveyIsNotOneInstant(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(p *paper, a cluster.Incarnation){
		"a member joins and claims": func(p *paper, _ cluster.Incarnation) {
			p.claim("x", "b/1", p.join("b/1"))
		},
		"a job is submitted again": func(p *paper, a cluster.Incarnation) {
			p.must(cluster.KillJob{Job: "x"}, "")
			p.pass()
			p.offer("x", cluster.TaskSpec{})
			p.claim("x", "a/1", a)
		},
	} {
		for at := range 6 {
			p := newPaper(t)
			a := p.join("a/1")
			p.offer("x", cluster.TaskSpec{})
			gappy := struct{ store.Docs }{&gaps{lagging: lagging{paper: p}, left: at,
				happens: func() { happens(p, a) }}}
			docs, _, err := surveyAll(context.Background(), gappy,
				[]string{keyConfig, keyNodes, jobKey("x"), partitionKey("x")}, func(store.Doc) bool { return true })
			must.Succeed(t, err)
			now := p.docs[partitionKey("x")].Version
			for _, w := range newPass(learn(docs), 0, "pass", former{}).writes() {
				if x, _ := p.value().Partition("x"); w.doc.Key == partitionKey("x") && w.doc.Version == now &&
					x.Owner != "" {
					t.Errorf("%s after request %d: the pass writes over what %s holds: %s", name, at, x.Owner,
						w.doc.Value)
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

// TestAnIndexTakenLongBefore: somebody takes an index for a submission and is suspended. Another one submits the job,
// it runs and ends, and is forgotten perhaps. The first wakes: under its old index the tokens of the job would fall.
func TestAnIndexTakenLongBefore(t *testing.T) {
	t.Parallel()
	for _, forgotten := range []bool{false, true} {
		p := newPaper(t)
		a := p.join("a/1")
		p.must(cluster.Configure{Retention: 1}, "")
		submit := cluster.SubmitJob{Job: "x",
			Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{{Type: "noop"}}}}
		first := decide(submit, learn(p.get(needs(submit)...)), writer{write: "suspended"})
		if first.index == 0 || !p.put(first.put) {
			t.Fatal("it takes no index: the story is another one")
		}
		p.offer("x", cluster.TaskSpec{})
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
