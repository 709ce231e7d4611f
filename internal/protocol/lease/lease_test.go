package lease

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What every protocol promises, on memory and in virtual time. Storms are of calls that fail at random, in every way
// that a store has; a busy store cannot take as many heartbeats as the usual TTL asks for.
func TestStoriesOnMemory(t *testing.T) { t.Parallel(); protocoltest.StoriesOnMemory(t, Protocol{}) }
func TestStorm(t *testing.T)           { t.Parallel(); protocoltest.StormsOnMemory(t, Protocol{}, false) }
func TestStoriesWithHeartbeatsAlone(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.OnMemory(Protocol{}, true))
}
func TestABusyStore(t *testing.T) { t.Parallel(); protocoltest.BusyStores(t, Protocol{}) }

// TestTimes: silence is noticed in time, and so on, on each kind of store.
func TestTimes(t *testing.T) {
	t.Parallel()
	protocoltest.Times(t, Protocol{}, map[string]float64{
		"memory": 143.5, "as file and PostgreSQL": 143.5, "as etcd, NATS and ZooKeeper": 143.5,
		"as Elasticsearch": 112.5,
	})
}

// TestARefusedEntryEndsTheLife: an entry that was stored though its maker did not hear of it refuses the next one. The
// heartbeat of that life would then be taken for one of a former life, and removed while the member holds its lease.
func TestARefusedEntryEndsTheLife(t *testing.T) {
	t.Parallel()
	s := &step{State: &State{Core: coreIn(member.PhaseJoining, member.Params{}), known: &facts{}}}
	s.Own.Key, s.Own.Held = "node/m/a-0", true
	s.joinTried(try{attempt: attempt{command: cluster.PrepareJoin{Member: "m"},
		result: cluster.Result{Reason: "it is a member"}}})
	if s.Is == member.PhaseJoining || s.Own.Key != "" || s.Own.Held {
		t.Errorf("phase %d with the heartbeat %+v", s.Is, s.Own)
	}
	for range 3 { // its supervisor has stopped all
		s.Reported = s.Given.Version
		s.Walk(s)
	}
	if s.Life != 1 {
		t.Errorf("life %d, want another one", s.Life)
	}
}

// coreIn is what a member in a phase knows.
func coreIn(is member.Phase, p member.Params) member.Core {
	c := member.NewCore(p, member.RenewLate)
	c.Is = is
	return c
}

// TestAFenceIsALapse: a renewal that was on its way when the session was fenced is refused. The member stops what it
// runs at once.
func TestAFenceIsALapse(t *testing.T) {
	t.Parallel()
	s := State{Core: coreIn(member.PhaseMember, member.Params{Member: "m", Nonce: "a",
		Timing: heartbeat.Timing{TTL: time.Second}}), known: &facts{}, random: 1, held: []*held{{id: "x"}}}
	s.Own = member.Own{Lease: heartbeat.Lease{Held: true, Acked: 1, TTL: time.Second},
		Asking: heartbeat.Asking{Busy: true}, Key: "node/m/a-0"}
	s.Given = protocol.Assignment{Version: 1, Grants: []*protocol.Grant{{Partition: "x"}}, ValidUntil: 1000}
	Step(&s, member.Renewed{Now: 10, Sent: 5, Key: "node/m/a-0", Outcome: outbox.Refused})
	if s.Is != member.PhaseRemoved || len(s.held) != 0 || s.Assigned().ValidUntil != 0 ||
		len(s.Assigned().Grants) != 0 || s.Inc != 0 {
		t.Errorf("phase %d, it holds %v and is to run %+v", s.Is, s.held, s.Assigned())
	}
}

// TestViewsOfAnotherLeader: a leader goes by a board that does not tell of the newest views, as one of another leader
// that was fenced before it wrote the board. It meets one of them, and then writes above all. That somebody else was
// quicker is an answer: the store is not away.
func TestViewsOfAnotherLeader(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	for n := 11; n < 15; n++ {
		must.Succeed(t, must.Err(docs.Put(context.Background(), store.Doc{Key: fmt.Sprintf("view/%d", n)})))
	}
	c := calls(docs)
	p := newPaper(t)
	s, _ := ruler(t, p)
	p.put(written(keyBoard, "", boardDoc{Term: 1, View: 10}))
	for _, want := range []uint64{11, 15} {
		s.End()
		f := learn(p.all())
		s.publish(f, newPass(f, 0, "pass", former{}))
		for _, e := range s.End() {
			show, ok := e.(Show)
			if !ok {
				continue
			}
			if show.View != want {
				t.Errorf("it writes view %d, want %d", show.View, want)
			}
			for _, w := range s.lead.writes { // the board names it only when it is there
				if b, err := read[boardDoc](w.doc); w.doc.Key == keyBoard && (err != nil || b.View >= want) {
					t.Errorf("before view %d is written the board is %s", want, w.doc.Value)
				}
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

// TestSinceWhen: what people see of a partition is since when it is where it is: claimed, held for its member, or free
// because the member has left, though its document is the same until somebody else claims it.
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
	p.offer("x", cluster.TaskSpec{})
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
