package protocoltest

import (
	"fmt"
	"sync"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// ledger is what really runs, over all members of a story.
type ledger struct {
	mu      sync.Mutex
	running map[cluster.PartitionID]run
	tokens  map[cluster.PartitionID]cluster.Token
	leased  map[cluster.MemberID]lease
	faults  []string
	starts  int
	changed chan struct{}
}

type run struct {
	member cluster.MemberID
	token  cluster.Token
}

// lease is until when a member may act, by its own clock.
type lease struct {
	until protocol.Instant
	clock func() protocol.Instant
}

func (t lease) ended() bool { return t.clock == nil || t.clock() >= t.until }

func newLedger() *ledger {
	return &ledger{
		running: make(map[cluster.PartitionID]run), tokens: make(map[cluster.PartitionID]cluster.Token),
		leased:  make(map[cluster.MemberID]lease),
		changed: make(chan struct{}),
	}
}

// start notes a run; false if its member may not act any more, since the process stood still between its look at the
// clock and this.
func (l *ledger) start(p cluster.PartitionID, r run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leased[r.member].ended() {
		return false
	}
	// A run whose lease has expired may not act; that its goroutine has yet to notice, on a busy machine, is no
	// overlap.
	if other, ok := l.running[p]; ok && other.member != r.member && !l.leased[other.member].ended() {
		l.faults = append(l.faults, fmt.Sprintf("%s started on %s (token %d) while it runs on %s (token %d)", p,
			r.member, r.token, other.member, other.token))
	}
	if last := l.tokens[p]; r.token < last {
		l.faults = append(l.faults, fmt.Sprintf("%s started on %s with token %d after token %d", p, r.member, r.token,
			last))
	}
	l.tokens[p] = max(l.tokens[p], r.token)
	l.running[p] = r
	l.starts++
	l.tell()
	return true
}

// begun counts all starts so far.
func (l *ledger) begun() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starts
}

func (l *ledger) stop(p cluster.PartitionID, m cluster.MemberID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[p].member == m {
		delete(l.running, p)
	}
	l.tell()
}

func (l *ledger) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// note keeps until when a member may act.
func (l *ledger) note(m cluster.MemberID, t lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leased[m] = t
}

// shares counts what each member runs.
func (l *ledger) shares() (map[cluster.MemberID]int, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[cluster.MemberID]int)
	for _, r := range l.running {
		out[r.member]++
	}
	return out, l.changed
}
