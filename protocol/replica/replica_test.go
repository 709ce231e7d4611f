package replica

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is one member with a supervisor that starts and stops at once.
type peer struct {
	r      *Replica
	st     *memory.Store
	cancel context.CancelFunc
	done   chan error
	mu     sync.Mutex
	runs   map[cluster.PartitionID]cluster.Token
}

func start(t *testing.T, srv *memory.Server, id string, ttl time.Duration) *peer {
	t.Helper()
	st := srv.Open()
	r, err := New(Config{Member: cluster.MemberID(id), Store: st, TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &peer{r: r, st: st, cancel: cancel, done: make(chan error, 1), runs: map[cluster.PartitionID]cluster.Token{}}
	go func() {
		for a := range r.Assignments() {
			p.obey(a)
		}
	}()
	go func() { p.done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		_ = st.Close()
	})
	return p
}

func (p *peer) obey(a protocol.Assignment) {
	p.mu.Lock()
	p.runs = map[cluster.PartitionID]cluster.Token{}
	var reports []protocol.Report
	for _, g := range a.Grants {
		p.runs[g.Partition] = g.Token
		reports = append(reports, protocol.Report{Partition: g.Partition, Token: g.Token})
	}
	p.mu.Unlock()
	p.r.Report(a.Version, reports)
}

func (p *peer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.runs)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 15 s: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestThreeShareAndOneCrashes(t *testing.T) {
	t.Parallel()
	srv := memory.New()
	ttl := 600 * time.Millisecond
	peers := []*peer{start(t, srv, "a", ttl), start(t, srv, "b", ttl), start(t, srv, "c", ttl)}
	counts := func() string { return fmt.Sprint(peers[0].count(), peers[1].count(), peers[2].count()) }
	for i := range 12 {
		res, err := peers[i%3].r.Propose(t.Context(), cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("t%02d", i)),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
		if err != nil || !res[0].Accepted {
			t.Fatalf("submit: %v %v", res, err)
		}
	}
	eventually(t, "4 4 4", func() bool { return counts() == "4 4 4" })
	_ = peers[1].st.Close() // its session ends: as if the process died
	eventually(t, "6 to a and c", func() bool { return peers[0].count() == 6 && peers[2].count() == 6 })
	peers[2].cancel()
	if err := <-peers[2].done; err != nil {
		t.Fatalf("leave: %v", err)
	}
	eventually(t, "12 to a", func() bool { return peers[0].count() == 12 })
	v, err := Observe(t.Context(), srv.Open(), cluster.Value{})
	if err != nil || v.Digest() == 0 {
		t.Fatal(err)
	}
}
