package lease

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
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
	return slices.DeleteFunc(slices.Clone(l.list), func(d store.Doc) bool { return !strings.HasPrefix(d.Key, prefix) }),
		nil
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

// passes lets the leader look at all documents and write what it finds, in a store whose list shows this.
func (s *step) passes(t *testing.T, p *paper, list []store.Doc) (wrote []string) {
	t.Helper()
	s.surveys(t, p, list)
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

// surveys lets the leader look at all documents, and find what is to be written. By no old document of a window does it
// go.
func (s *step) surveys(t *testing.T, p *paper, list []store.Doc) {
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
}

// TestOldListMakesNothing: an old list shows what a window has said, and an item that it named is done and gone since.
// A write over nothing does not meet what was read of the window: the item would run again.
func TestOldListMakesNothing(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s, inc := ruler(t, p)
	by := s.Session()
	p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}})
	s.passes(t, p, p.all())
	token, older := p.claim("x#list", by, inc), p.all()
	p.must(cluster.AdvanceWindow{Partition: "x#list", Token: token, Items: []cluster.Item{{Key: "i"}}}, by)
	old := p.all()
	if got := s.passes(t, p, old); !slices.Equal(got, []string{partitionKey("x#i")}) {
		t.Fatalf("it writes %q, want the item", got)
	}
	s.passes(t, p, p.all()) // it finds the item
	if s.passes(t, p, older); len(p.docs[partitionKey("x#i")].Value) == 0 {
		t.Error("by a list from before the window named it, the item is taken out")
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

// TestALateLeaderMakesAnItemAgain: a leader reads that an item is to be made, and is suspended. Another one makes it,
// it is done, and it is taken out. Then the first one goes on: its create succeeds, because there is no document, and
// its list may be as old as its own last look. Nobody claims the item, and its document is removed.
func TestALateLeaderMakesAnItemAgain(t *testing.T) {
	t.Parallel()
	for _, hears := range []bool{true, false} { // of its write
		p := newPaper(t)
		s, inc := ruler(t, p)
		by, key := s.Session(), partitionKey("x#i")
		p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}})
		s.passes(t, p, p.all())
		token := p.claim("x#list", by, inc)
		p.must(cluster.AdvanceWindow{Partition: "x#list", Token: token, Items: []cluster.Item{{Key: "i"}}}, by)
		old := p.all()
		s.surveys(t, p, old)
		p.pass() // of the other leader
		before := p.claim("x#i", by, inc) - 1
		p.must(cluster.FinishPartition{Partition: "x#i", Token: before + 1}, by)
		p.must(cluster.AdvanceWindow{Partition: "x#list", Token: token, Step: 1, Done: []string{"i"}}, by)
		p.pass()

		at := slices.IndexFunc(s.lead.writes, func(w leadWrite) bool { return w.doc.Key == key })
		if at < 0 || !p.put(s.lead.writes[at].doc) {
			t.Fatal("nothing lands: the story is another one")
		}
		if s.lead.writes[at].id = 99; hears {
			s.leadWritten(Written{ID: 99, Outcome: outbox.Done, Version: p.docs[key].Version})
		}
		for range 3 {
			p.refuses(cluster.Claim{Partition: "x#i", Token: before, Member: "a", Incarnation: inc}, by,
				"no such partition")
			if got := s.passes(t, p, old); slices.Contains(got, key) {
				t.Errorf("hears %t: it lets it be claimed", hears)
			}
		}
		if _, there := p.docs[key]; there {
			t.Errorf("hears %t: the item stays", hears)
		}
	}
}

// TestOldListCompletesNothing: a list from before a split shows its parent alone, which has finished since. That its
// children are there is not to be seen for a leader that did not make them: the job is not complete.
func TestOldListCompletesNothing(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s, inc := ruler(t, p)
	by := s.Session()
	p.submit("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"p"}})
	s.passes(t, p, p.all())
	token := p.claim("x#p", by, inc)
	p.must(cluster.SplitPartition{Partition: "x#p", Token: token,
		Children: []cluster.Child{{Key: "l", Parents: []string{"p"}}, {Key: "r", Parents: []string{"p"}}}}, by)
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

// TestASurveyReadsByKey: each share, and the job of each partition that a list shows, though the list has no jobs.
// Where a partition has gone since, its job is reported as old, also if the key of the partition is a digest of its
// name.
func TestASurveyReadsByKey(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("a/1")
	p.offer("x", cluster.TaskSpec{Spread: cluster.SpreadPool})
	p.offer("y", cluster.TaskSpec{})
	key := strings.Repeat("long", 200)
	p.offer("z", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{key}})
	digest := partitionKey(cluster.PartitionID("z#" + key))
	list := slices.DeleteFunc(p.all(), func(d store.Doc) bool { return strings.HasPrefix(d.Key, jobPrefix) })
	share := slices.IndexFunc(list, func(d store.Doc) bool {
		x, ok := learn([]store.Doc{d}).of(d.Key)
		return ok && x.partition.Slot != 0
	})
	if share < 0 || !strings.HasPrefix(digest, partitionPrefix+"@") {
		t.Fatal("there is no share, or no digest: the story is another one")
	}
	was := list[share]
	list[share].Version = "of long ago"
	delete(p.docs, digest)
	usable := func(d store.Doc) bool { return Survey{}.usable(d) && d.Key != digest }
	docs, old, err := surveyAll(t.Context(), lagging{paper: p, list: list}, nil, usable)
	must.Succeed(t, err)
	f := learn(docs)
	for _, id := range []cluster.JobID{"x", "y", "z"} {
		if _, ok := f.job(id); !ok {
			t.Errorf("it does not read job %s", id)
		}
	}
	if v := f.version(was.Key); v != was.Version {
		t.Errorf("it has the share %s at version %q, want %q", was.Key, v, was.Version)
	}
	slices.Sort(old)
	if want := []cluster.JobID{"x", "z"}; !slices.Equal(old, want) {
		t.Errorf("the list is old for %q, want %q", old, want)
	}
}

// Of a document that was read twice the later read counts, in whatever order they came.
func TestLearnKeepsTheLastRead(t *testing.T) {
	t.Parallel()
	doc := func(index cluster.Index, version store.Version) store.Doc {
		return written(keyConfig, version, configDoc{Index: index, Settings: defaults().Encode()})
	}
	for _, docs := range [][]store.Doc{{doc(1, "1"), doc(2, "2")}, {doc(1, "1"), {Key: keyBoard}, doc(2, "2")},
		{{Key: keyNodes}, doc(1, "1"), doc(2, "2"), {Key: keyBoard}}} {
		f := learn(docs)
		if f.config.Index != 2 || f.version(keyConfig) != "2" || f.problem(keyConfig) != nil {
			t.Errorf("of %v: index %d, version %s, %v", docs, f.config.Index, f.version(keyConfig),
				f.problem(keyConfig))
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
