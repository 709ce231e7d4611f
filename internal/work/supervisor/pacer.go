package supervisor

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// pacer fires the rounds of periodic runs: one goroutine turns the wheel, and each round has a goroutine while it
// lasts. Rounds are bounded by type (lane) and altogether; those that wait are served in the order in which they were
// due, lanes in turn.
type pacer struct {
	s    *Supervisor
	wake chan struct{} // has room for one
	// reads bounds how many requests for last rounds are under way.
	reads chan struct{}
	// reading ends with the pacer: nobody waits for what a store that hangs would answer.
	reading    context.Context
	endReading context.CancelFunc

	mu      sync.Mutex
	entries []entry // runs whose last round has yet to be read
	readers int     // goroutines that do that
	wheel   *wheel[*periodic]
	sleeps  protocol.Instant // until when the goroutine sleeps
	lanes   map[string]*lane
	turn    []*lane // in the order of first use; rotated
	running int
}

type lane struct {
	max, running int
	queue        []*periodic
}

// maxReads keeps a member that is given thousands of partitions from asking the store for all of their last rounds at
// once.
const maxReads = 16

func newPacer(s *Supervisor) *pacer {
	p := &pacer{s: s, wake: make(chan struct{}, 1), reads: make(chan struct{}, maxReads),
		wheel: newWheel[*periodic](s.clock()), lanes: map[string]*lane{}}
	p.reading, p.endReading = context.WithCancel(context.Background())
	return p
}

// start turns the wheel until the returned function is called, which waits for the goroutine.
func (p *pacer) start() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		p.turnWheel(quit)
	}()
	return func() {
		p.endReading()
		close(quit)
		<-done
	}
}

func (p *pacer) turnWheel(quit <-chan struct{}) {
	timer := time.NewTimer(longestNap)
	defer timer.Stop()
	for {
		timer.Reset(p.advance())
		select {
		case <-quit:
			return
		case <-timer.C:
		case <-p.wake:
		}
	}
}

// advance fires what is due and returns how long to sleep.
func (p *pacer) advance() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.s.clock()
	p.wheel.advance(now, func(t *timer[*periodic]) { p.fire(t.value, now) })
	p.dispatch()
	p.sleeps = now.Add(longestNap)
	if next, ok := p.wheel.next(); ok {
		p.sleeps = min(p.sleeps, next)
	}
	return max(p.sleeps.Sub(p.s.clock()), 0)
}

// fire adds the rounds of e that are due to what it owes, and arms the next.
func (p *pacer) fire(e *periodic, now protocol.Instant) {
	if skipped := e.schedule(now, p.s.conf.Wall); skipped > 0 {
		e.run.skip(skipped)
	}
	p.wheel.add(&e.timer, e.next)
	p.queue(e)
}

// queue queues the first round that e owes, unless the one before still runs.
func (p *pacer) queue(e *periodic) {
	if e.place != placeNone || len(e.owed) == 0 && e.extra == nil {
		return
	}
	e.place = placeQueued
	if e.extra != nil {
		e.present, e.extra = &underway{round: *e.extra}, nil
	} else {
		e.present = &underway{round: e.owed[0]}
		if e.owed = e.owed[1:]; len(e.owed) == 0 {
			e.owed = nil
		}
	}
	e.lane.queue = append(e.lane.queue, e)
}

// dispatch starts queued rounds while there is room.
func (p *pacer) dispatch() {
	for p.running < p.s.conf.Workers {
		e := p.pick()
		if e == nil {
			return
		}
		e.place = placeRunning
		e.lane.running++
		p.running++
		p.s.runs.Add(1)
		go p.round(e)
	}
}

// pick takes the longest waiting round of the lane whose turn it is; nil if none may start.
func (p *pacer) pick() *periodic {
	for range p.turn {
		l := p.turn[0]
		p.turn = append(p.turn[1:], l)
		for len(l.queue) > 0 && l.running < l.max {
			e := l.queue[0]
			l.queue[0] = nil
			l.queue = l.queue[1:]
			if e.place == placeQueued {
				return e
			}
		}
	}
	return nil
}

// add puts a run on the wheel, unless it is over already.
func (p *pacer) add(ctx context.Context, r *run, last lastRound) {
	e := r.periodic
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.place == placeGone {
		return
	}
	e.base = ctx
	e.lane = p.lane(r.typ)
	e.begin(p.s.clock(), p.s.conf.Wall(), p.s.conf.MaxSpread, last)
	p.wheel.add(&e.timer, e.next)
	r.paced.Store(true)
	p.s.asks.look()
	if e.next < p.sleeps {
		p.sleeps = e.next
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

func (p *pacer) lane(t *work.Type) *lane {
	l := p.lanes[t.Name]
	if l == nil {
		l = &lane{max: cmp.Or(t.MaxConcurrent, defaultConcurrent)}
		p.lanes[t.Name] = l
		p.turn = append(p.turn, l)
	}
	return l
}

// nextMS is when the next round of a run is planned, by the wall clock; 0 where none is.
func (p *pacer) nextMS(r *run) int64 {
	if !r.paced.Load() {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := r.periodic
	switch {
	case e.place == placeGone || e.plan != nil && e.at.IsZero():
		return 0
	case e.plan != nil:
		return e.at.UnixMilli()
	}
	return p.s.conf.Wall().Add(e.next.Sub(p.s.clock())).UnixMilli()
}

// remove takes a run off the wheel; its exit comes at once, or when its present round is over.
func (p *pacer) remove(e *periodic, cause error) {
	p.mu.Lock()
	p.wheel.remove(&e.timer)
	was := e.place
	var cancel context.CancelCauseFunc
	if was == placeRunning {
		cancel = e.present.cancel
	} else {
		e.place = placeGone
	}
	p.mu.Unlock()
	switch {
	case was == placeGone: // its last round saw the stop and has told the exit
	case was != placeRunning:
		e.run.exit(Stopped, "")
	case cancel != nil:
		cancel(cause)
	}
}

// over ends a round: the run exits if it was stopped meanwhile, and others get their turn.
func (p *pacer) over(e *periodic) {
	p.mu.Lock()
	e.lane.running--
	p.running--
	e.present = nil
	e.place = placeNone
	gone := e.run.stopped.Load()
	if gone {
		e.place = placeGone
		p.wheel.remove(&e.timer)
	} else {
		p.queue(e)
	}
	p.dispatch()
	p.mu.Unlock()
	if gone {
		e.run.exit(Stopped, "")
	}
}
