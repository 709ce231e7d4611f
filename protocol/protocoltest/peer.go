package protocoltest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// peer is a member with a supervisor that starts and stops at once, and stops when its lease ends.
type peer struct {
	id     cluster.MemberID
	m      protocol.Member
	clock  func() protocol.Instant
	crash  func() // ends its store without a word
	ledger *ledger
	fails  string // reports that each of its tasks has failed with this; "" for none
	leave  context.CancelFunc
	kill   context.CancelFunc // of the supervisor: what it runs is gone with it
	over   chan struct{}
	dead   chan struct{} // what it ran has ended
	err    error
	wg     sync.WaitGroup
}

func (p *peer) begin(ctx context.Context) {
	member, leave := context.WithCancel(ctx)
	alive, kill := context.WithCancel(ctx)
	p.leave, p.kill, p.over, p.dead = leave, kill, make(chan struct{}), make(chan struct{})
	p.wg.Go(func() { p.supervise(alive) })
	p.wg.Go(func() {
		defer close(p.over)
		p.err = p.m.Run(member)
	})
}

// supervise obeys assignments until the member or the process ends.
func (p *peer) supervise(alive context.Context) {
	running := make(map[cluster.PartitionID]cluster.Token)
	p.obeyAll(alive, running)
	for id := range running {
		p.ledger.stop(id, p.id)
	}
	close(p.dead)
	for range p.m.Assignments() { // a dead process reads nothing, but the member's goroutine must end all the same
		continue
	}
}

func (p *peer) obeyAll(alive context.Context, running map[cluster.PartitionID]cluster.Token) {
	end := time.NewTimer(time.Hour)
	defer end.Stop()
	var last protocol.Assignment
	for {
		select {
		case a, ok := <-p.m.Assignments():
			if !ok {
				return
			}
			last = a
		case <-end.C:
		case <-alive.Done():
			return
		}
		p.ledger.note(p.id, lease{last.ValidUntil, p.clock})
		left := last.ValidUntil.Sub(p.clock())
		valid := left > 0
		if !valid {
			left = time.Hour // until the next assignment
		}
		end.Reset(left)
		p.obey(running, last, valid)
		said := reports(last, running)
		for i := range said {
			if p.fails != "" {
				said[i].State, said[i].Message = protocol.RunFailed, p.fails
			}
		}
		p.m.Report(last.Version, said)
	}
}

func (p *peer) obey(running map[cluster.PartitionID]cluster.Token, a protocol.Assignment, valid bool) {
	want := make(map[cluster.PartitionID]cluster.Token)
	if valid {
		for _, g := range a.Grants {
			want[g.Partition] = g.Token
		}
	}
	for id, token := range running {
		if want[id] != token {
			p.ledger.stop(id, p.id)
			delete(running, id)
		}
	}
	for id, token := range want {
		if _, ok := running[id]; !ok && p.ledger.start(id, run{p.id, token}) {
			running[id] = token
		}
	}
}

func reports(a protocol.Assignment, running map[cluster.PartitionID]cluster.Token) []protocol.Report {
	var out []protocol.Report
	for _, g := range a.Grants { // sorted by partition
		if token, ok := running[g.Partition]; ok {
			out = append(out, protocol.Report{Partition: g.Partition, Token: token, State: protocol.RunActive,
				Attempt: g.Attempt})
		}
	}
	return out
}

// die ends the peer as kill -9 does.
func (p *peer) die() {
	p.kill()
	<-p.dead
	p.crash()
	p.leave()
}

// end lets it leave gracefully and waits.
func (p *peer) end(t *testing.T) {
	t.Helper()
	p.leave()
	select {
	case <-p.over:
	case <-time.After(patience):
		t.Fatalf("%s does not leave", p.id)
	}
	if p.err != nil {
		t.Fatalf("%s left: %v", p.id, p.err)
	}
	p.die() // the process ends
}
