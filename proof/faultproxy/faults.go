package faultproxy

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Cut resets all connections, and each new one as soon as it is made, until Heal.
func (p *Proxy) Cut() {
	p.change(func(s *state) { s.cut = true })
	p.reset(func(*conn) bool { return true })
}

// Reset resets all connections, once. New ones are under the faults that hold: behind a stall they are made, and
// nothing passes.
func (p *Proxy) Reset() { p.reset(func(*conn) bool { return true }) }

// Refuse lets the machine refuse new connections until Heal. Those that exist stay.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
}

// Stall holds the bytes of both directions until Heal; nothing is closed.
func (p *Proxy) Stall() {
	p.hold(requests, replies)
}

// StallRequests holds the bytes that clients send until Heal; answers pass.
func (p *Proxy) StallRequests() { p.hold(requests) }

// StallReplies holds the bytes that the server sends until Heal; requests pass.
func (p *Proxy) StallReplies() { p.hold(replies) }

// DropReplies lets requests pass and swallows what the server sends. Nothing is closed: a test that has seen the effect
// calls Cut. A connection of which something was swallowed is reset by Heal.
func (p *Proxy) DropReplies() {
	p.change(func(s *state) { s.dropping = true })
	p.settle(replies)
}

// CutRequests lets n more bytes pass from clients, counted over all connections, then resets all connections and closes
// the channel. New connections are passed on as before. Another call, or Heal, before that replaces it, and its channel
// stays open.
func (p *Proxy) CutRequests(n int64) <-chan struct{} { return p.cutAfter(requests, n) }

// CutReplies is CutRequests for bytes of the server.
func (p *Proxy) CutReplies(n int64) <-chan struct{} { return p.cutAfter(replies, n) }

// Delay lets all bytes of both directions arrive later by d, more or less by up to jitter, in their order, until Heal.
func (p *Proxy) Delay(d, jitter time.Duration) {
	p.change(func(s *state) { s.delay, s.jitter = d, jitter })
}

// Throttle lets pass so many bytes in a second, in each direction of each connection, until Heal.
func (p *Proxy) Throttle(bytesPerSecond int) {
	p.change(func(s *state) { s.rate = max(1, bytesPerSecond) })
	p.settle(requests, replies)
}

// Break breaks something, by number, and tells what: for tests that let chance choose. Not everything that was broken
// before is mended.
func (p *Proxy) Break(which uint64) string {
	n := int64(which >> 32 % 500)
	breaks := []struct {
		name string
		make func()
	}{
		{"cut", p.Cut},
		{"refused", func() { p.Refuse(); p.Cut() }},
		{"stalled", p.Stall},
		{"requests stalled", p.StallRequests},
		{"replies stalled", p.StallReplies},
		{"replies dropped", p.DropReplies},
		{"silent", func() { p.Stall(); p.Reset() }},
		{"reset", p.Reset},
		{"reset in a request", func() { p.CutRequests(n) }},
		{"reset in a reply", func() { p.CutReplies(n) }},
		{"slow", func() { p.Delay(200*time.Millisecond, 200*time.Millisecond) }},
	}
	b := breaks[which%uint64(len(breaks))]
	b.make()
	return b.name
}

// Heal ends all faults. Bytes that were held go on their way; connections with a hole are reset. The error is that of
// listening again after Refuse, when the port was taken by another program meanwhile; on Linux that can't be, but by
// one that wants this very port.
func (p *Proxy) Heal() error {
	p.change(func(s *state) { *s = newState() })
	p.settle(requests, replies) // who is dropping has told of the damage then, and who spent a budget of its cut
	p.awaitCuts()
	p.reset((*conn).isDamaged)
	return p.reopen()
}

// awaitCuts returns when no reset is under way that the last byte of a budget has begun: it must not meet connections
// that are made later.
func (p *Proxy) awaitCuts() {
	p.mu.Lock()
	begun := slices.Collect(maps.Keys(p.cutting))
	p.mu.Unlock()
	for _, spent := range begun {
		<-spent
	}
}

// reopen listens again at the same address.
func (p *Proxy) reopen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.listener != nil {
		return nil
	}
	l, err := listen(p.ctx, p.addr)
	if err != nil {
		return fmt.Errorf("listen again at %s: %w", p.addr, err)
	}
	p.open(l)
	return nil
}

func (p *Proxy) hold(ds ...direction) {
	p.change(func(s *state) {
		for _, d := range ds {
			s.stalled[d] = true
		}
	})
	p.settle(ds...)
}

func (p *Proxy) cutAfter(d direction, n int64) <-chan struct{} {
	spent := make(chan struct{})
	p.change(func(s *state) { s.budget[d], s.spent[d] = max(1, n), spent })
	p.settle(d)
	return spent
}

func (p *Proxy) change(what func(*state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what(&p.state)
	p.signal()
}

// settle returns when no write under an older state is under way.
func (p *Proxy) settle(ds ...direction) {
	p.mu.Lock()
	conns := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	for _, c := range conns {
		lanes := c.running()
		for _, d := range ds {
			if lanes != nil {
				lanes[d].settle()
			}
		}
	}
}

// none is the budget of a direction that is not to be cut.
const none = -1

// state is what is broken now.
type state struct {
	cut           bool
	stalled       [directions]bool
	dropping      bool
	budget        [directions]int64 // bytes that still pass before the cut
	spent         [directions]chan struct{}
	delay, jitter time.Duration
	rate          int // bytes per second and direction of a connection; 0: no bound
}

func newState() state {
	return state{budget: [directions]int64{none, none}}
}

// gate is what the state means for some bytes.
type gate struct {
	hold, drop    bool
	n             int // how many may be written
	delay, jitter time.Duration
	rate          int
	changed       <-chan struct{} // closed when all this may be different
}

// gate tells how things are, without taking anything.
func (p *Proxy) gate(d direction) gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.look(d)
}

func (p *Proxy) look(d direction) gate {
	s := p.state
	return gate{
		hold: s.stalled[d], drop: s.dropping && d == replies && !s.stalled[d],
		delay: s.delay, jitter: s.jitter, rate: s.rate, changed: p.changed,
	}
}

// take asks to write n bytes, and takes as many as it gets from the budget.
func (p *Proxy) take(d direction, n int) gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.look(d)
	if g.hold || g.drop {
		return g
	}
	g.n = n
	if g.rate > 0 {
		g.n = min(g.n, max(1, g.rate/50))
	}
	if left := p.state.budget[d]; left != none {
		g.n = int(min(int64(g.n), left))
		p.state.budget[d] -= int64(g.n)
	}
	return g
}

// wrote accounts for a write, and cuts if it was the last one before; then it returns true.
func (p *Proxy) wrote(d direction, taken, written int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.passed(d, written)
	if p.state.budget[d] == none {
		return false
	}
	p.state.budget[d] += int64(taken - written)
	if p.state.budget[d] > 0 || p.state.spent[d] == nil {
		return false
	}
	spent := p.state.spent[d]
	p.state.budget[d], p.state.spent[d] = none, nil
	p.cutting[spent] = struct{}{}
	p.signal()
	chosen := p.choose(func(*conn) bool { return true }) // now: the one that was just written to may be gone before what follows begins
	p.wg.Go(func() {
		cut(chosen)
		p.wasCut(spent)
	})
	return true
}

// wasCut ends a cut whose connections are reset.
func (p *Proxy) wasCut(spent chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cutting, spent)
	close(spent)
}

func (p *Proxy) dropped(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Dropped += int64(n)
}

// signal tells all who wait that the state has changed. p.mu is held.
func (p *Proxy) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}
