package faultproxy

import "time"

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
