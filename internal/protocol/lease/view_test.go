package lease

import (
	"context"
	"fmt"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestViewsOfAnotherLeader: a leader goes by a board that does not tell of the newest views, as one of another leader that was fenced before it wrote the board.
// It meets one of them, and then writes above all. That somebody else was quicker is an answer: the store is not away.
func TestViewsOfAnotherLeader(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	for n := 11; n < 15; n++ {
		if _, err := docs.Put(context.Background(), store.Doc{Key: fmt.Sprintf("view/%d", n)}); err != nil {
			t.Fatal(err)
		}
	}
	c := calls(docs)
	p := newPaper(t)
	s, _ := ruler(t, p)
	p.put(written(keyBoard, "", boardDoc{Term: 1, View: 10}))
	for _, want := range []uint64{11, 15} {
		s.End()
		f := learn(p.all())
		s.publish(f, newPass(f, 0, "pass", ""))
		for _, e := range s.End() {
			show, ok := e.(Show)
			if !ok {
				continue
			}
			if show.View != want {
				t.Errorf("it writes view %d, want %d", show.View, want)
			}
			s.shown(c.Call(context.Background(), show).(Shown))
		}
		if s.Contact.Problem != "" {
			t.Errorf("the store counts as away: %s", s.Contact.Problem)
		}
	}
	if s.lead.seen == nil {
		t.Error("no view was written")
	}
}

// TestSinceWhen: what people see of a partition is since when it is where it is: claimed, held for its member, or free because the member has left, though
// its document is the same until somebody else claims it.
func TestSinceWhen(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	since := func(want cluster.PartitionState) {
		t.Helper()
		if x, _ := p.value().Partition("x"); x.State != want || x.ChangedMS != p.atMS {
			t.Errorf("it is %s since %d, want %s since %d", x.State, x.ChangedMS, want, p.atMS)
		}
	}
	a, b := p.join("a/1"), p.join("b/1")
	p.submit("x", cluster.TaskSpec{})
	p.pass()
	p.atMS = 1000
	p.claim("x", "a/1", a)
	since(cluster.PartitionGranted)
	p.atMS = 2000
	p.must(cluster.LeaveCluster{Member: "a", Incarnation: a, Hold: true}, "a/1")
	since(cluster.PartitionHeld)
	p.atMS = 3000
	p.must(cluster.ReleaseHold{Member: "a", Incarnation: a}, "b/1")
	since(cluster.PartitionWaiting)
	p.atMS = 4000
	p.claim("x", "b/1", b)
	since(cluster.PartitionGranted)
	p.atMS = 5000
	p.fence("b/1")
	p.join("b/2")
	since(cluster.PartitionWaiting)
	for n := range 2 * maxLeft { // it is known of the last ones, whose partitions are claimed soon
		p.fence(fmt.Sprintf("b/%d", n+2))
		p.join(fmt.Sprintf("b/%d", n+3))
	}
	if nodes, _ := read[nodesDoc](p.docs[keyNodes]); len(nodes.Left) != maxLeft {
		t.Errorf("%d that have left are listed, want %d", len(nodes.Left), maxLeft)
	}
}
