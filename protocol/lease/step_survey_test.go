package lease

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

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

// ruler is a leader, who is a member too.
func ruler(t *testing.T, p *paper) (*step, cluster.Incarnation) {
	t.Helper()
	s := &step{State: State{p: Params{Join: cluster.PrepareJoin{Member: "a"}, Nonce: "n"}, phase: phaseMember, known: &facts{}}}
	s.inc = p.join(s.session())
	p.put(written(keyLeader, "", leaderDoc{Holder: s.session(), Term: 1}))
	s.lead.take(1)
	return s, s.inc
}

// passes lets the leader look at all documents and write what it finds, in a store whose list shows this. It goes by no partition that is not as it says.
func (s *step) passes(t *testing.T, p *paper, list []store.Doc) (wrote []string) {
	t.Helper()
	s.fx, s.lead.call, s.lead.show, s.lead.writes = nil, call{}, call{}, nil
	s.leadOn()
	e, ok := s.fx[len(s.fx)-1].(Survey)
	if !ok {
		t.Fatalf("it does %+v, want a survey", s.fx)
	}
	docs, err := surveyAll(context.Background(), lagging{paper: p, list: list}, e.Keys, e.stands)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if strings.HasPrefix(d.Key, partitionPrefix) && d.Version != p.docs[d.Key].Version {
			t.Errorf("it goes by version %q of %s, which is at %q", d.Version, d.Key, p.docs[d.Key].Version)
		}
	}
	s.surveyed(Surveyed{Docs: docs})
	for _, w := range s.lead.writes {
		if !strings.HasPrefix(w.doc.Key, partitionPrefix) {
			continue
		}
		wrote = append(wrote, w.doc.Key)
		if w.remove {
			delete(p.docs, w.doc.Key)
		} else if !p.put(w.doc) {
			t.Errorf("its write of %s conflicts", w.doc.Key)
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
	by := s.session()
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
