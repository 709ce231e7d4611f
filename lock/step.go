package lock

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// outcome is how a call that changes something ended.
type outcome uint8

const (
	done    outcome = iota
	notDone         // provably: nothing was changed; the store is away
	refused         // provably: the version was not current
	unknown         // it may have been done, or may be later
	ended           // the session has ended
)

// terms are what does not change about a claim.
type terms struct {
	me    entry
	size  int
	try   bool          // take it at once or not at all
	pause time.Duration // between two looks at the same document
	began protocol.Instant
}

// claim decides for one acquisition, from the first read of the table to the last. It has at most one call in flight,
// and whatever happens it hears how that call ended before it hears anything else. It is a value; step makes the next
// one.
type claim struct {
	terms
	now     protocol.Instant
	phase   phase
	refusal error // why it leaves without the lock

	table   table
	version store.Version
	fresh   bool             // the table is what the last answer said
	read    protocol.Instant // when it was read
	writing table            // what is being written
	wrote   bool             // it has tried to write at least once

	doubt   bool          // the outcome of a write is unknown,
	doubtAt store.Version // which was to replace this version

	seen heartbeat.Observations
	rest protocol.Instant // the store does not answer: no call before this
}

type phase uint8

const (
	entering phase = iota // its entry is not in the table, as far as it knows
	waiting               // its entry is in the line
	holding
	leaving // nothing of it may stay in the table, nor come later
	over
)

// The events of a claim.
type (
	event interface{ at() protocol.Instant }
	// woken: the time of a wait has come.
	woken struct{ now protocol.Instant }
	// hinted: the table may have changed, or the heartbeat of that key.
	hinted struct {
		now    protocol.Instant
		keeper string // "" for the table
	}
	// tableRead answers readTable; version is "" when there is none.
	tableRead struct {
		now     protocol.Instant
		table   table
		version store.Version
		err     error
		fatal   bool // trying again will not help
	}
	// tableWritten answers writeTable.
	tableWritten struct {
		now     protocol.Instant
		outcome outcome
		version store.Version
		err     error
		fatal   bool
	}
	// heartbeatSeen answers lookHeartbeat. sent is an instant before the call was made.
	heartbeatSeen struct {
		now, sent protocol.Instant
		key       string
		version   store.Version // "" when there is none
		err       error
	}
	// stop: give up, or let go.
	stop struct{ now protocol.Instant }
)

// The effects of a claim: each step gives one.
type (
	effect    interface{ effect() }
	readTable struct{}
	// writeTable replaces the table of a version.
	writeTable struct {
		table   table
		version store.Version
	}
	lookHeartbeat struct{ key string }
	// wait lasts until an instant, or a hint of the table or of one of the heartbeats.
	wait struct {
		until      protocol.Instant
		heartbeats []string
	}
	// granted: it holds the lock, for as long as the lease of the process's heartbeat is valid.
	granted struct{ token cluster.Token }
	// left: nothing of it is in the table, nor will be. err says why it did not get the lock; nil after stop.
	left struct{ err error }
)

func (e woken) at() protocol.Instant         { return e.now }
func (e hinted) at() protocol.Instant        { return e.now }
func (e tableRead) at() protocol.Instant     { return e.now }
func (e tableWritten) at() protocol.Instant  { return e.now }
func (e heartbeatSeen) at() protocol.Instant { return e.now }
func (e stop) at() protocol.Instant          { return e.now }

func (readTable) effect()     {}
func (writeTable) effect()    {}
func (lookHeartbeat) effect() {}
func (wait) effect()          {}
func (granted) effect()       {}
func (left) effect()          {}

// step handles an event and returns what to do next.
func (c claim) step(ev event) (claim, effect) {
	c.now = ev.at()
	c.take(ev)
	fx := c.next()
	if w, ok := fx.(writeTable); ok {
		c.writing, c.wrote = w.table, true
	}
	return c, fx
}

func (c *claim) take(ev event) {
	switch ev := ev.(type) {
	case hinted:
		if ev.keeper == "" {
			c.fresh = false
		} else if o := c.seen.Of(ev.keeper); o.Known {
			o.Looked = 0 // it may have changed: an earlier read proves nothing
			c.seen = c.seen.With(o)
		}
	case tableRead:
		if ev.err != nil {
			c.failed(ev.err, ev.fatal)
			return
		}
		c.table, c.version, c.fresh, c.read = ev.table, ev.version, true, c.now
	case tableWritten:
		c.written(ev)
	case heartbeatSeen:
		if ev.err != nil {
			c.failed(ev.err, false)
			return
		}
		c.seen = c.seen.With(c.seen.Of(ev.key).Read(ev.version, 0, ev.sent, c.now)) // its TTL is in the table
	case stop:
		if c.phase < leaving {
			c.phase = leaving
		}
	}
}

func (c *claim) written(ev tableWritten) {
	switch ev.outcome {
	case done:
		c.table, c.version, c.fresh = c.writing, ev.version, true
		c.read = c.now
	case refused:
		c.fresh = false
	case unknown:
		c.doubt, c.doubtAt = true, c.version
		c.failed(ev.err, ev.fatal)
		c.rest = c.now.Add(c.pause / 10) // reading will tell
	default:
		c.failed(ev.err, ev.fatal)
	}
}

// failed: the store did not answer, or the answer cannot be used.
func (c *claim) failed(err error, fatal bool) {
	c.fresh = false
	c.rest = c.now.Add(c.pause)
	switch {
	case fatal:
		c.phase, c.refusal = over, err
	case c.try:
		c.refuse(err)
	}
}

func (c *claim) refuse(err error) {
	if c.phase < holding {
		c.phase, c.refusal = leaving, err
	}
}

// next decides by the whole state, not by what has just happened.
func (c *claim) next() effect {
	if c.phase == leaving && !c.wrote {
		c.phase = over
	}
	switch {
	case c.phase == over:
		return left{c.refusal}
	case c.phase == holding:
		e, _ := c.table.holder(c.me.ID)
		return granted{e.Token}
	case c.now < c.rest:
		return wait{until: c.rest}
	case !c.fresh:
		return readTable{}
	}
	if c.version != c.doubtAt {
		c.doubt = false // the write was made, or never can be: its version has passed
	}
	switch c.phase {
	case leaving:
		return c.leave()
	case entering:
		return c.enter()
	}
	return c.stand()
}

func (c *claim) write(t table) effect { return writeTable{t, c.version} }

// leave takes the entry out. Where it is not in the table but a write of ours may still come, another write takes away
// the version that it waits for.
func (c *claim) leave() effect {
	switch {
	case c.table.has(c.me.ID):
		return c.write(c.table.without(c.me.ID))
	case c.doubt:
		t := c.table
		t.Size = max(t.Size, 1)
		return c.write(t.touched())
	}
	c.phase = over
	return left{c.refusal}
}

// enter puts the entry into the table, which may make it a holder at once.
func (c *claim) enter() effect {
	switch {
	case c.inside():
		return c.stand()
	case !c.table.idle() && c.table.Size != c.size:
		return c.probe(&SizeError{Size: c.table.Size, Want: c.size}, slices.Concat(c.table.Waiters, c.table.Holders),
			true)
	case c.try && len(c.table.Waiters) > 0:
		return c.probe(ErrHeld, c.table.Waiters, true)
	case c.try && !c.table.free():
		return c.probe(ErrHeld, c.table.Holders, false)
	case len(c.table.Waiters) >= maxWaiting:
		c.refuse(ErrCrowded)
		return c.next()
	}
	t := c.table
	t.Size = c.size
	return c.write(t.with(c.me))
}

func (c *claim) inside() bool { return c.table.has(c.me.ID) }

// probe checks the heartbeats of entries that are in the way, once. It removes the dead ones, and refuses if none of
// them is dead, or if one of them is alive where all would have to be dead.
func (c *claim) probe(why error, entries []entry, all bool) effect {
	var dead []string
	alive := false
	for _, e := range entries {
		if e.Heartbeat == c.me.Heartbeat {
			alive = true
			continue
		}
		o := c.seen.Of(e.Heartbeat)
		if !o.Known || o.Looked < c.began {
			if alive && all {
				break
			}
			return lookHeartbeat{e.Heartbeat}
		}
		if o.Dead(silenceOf(e.ttl())) {
			dead = append(dead, e.ID)
		} else {
			alive = true
		}
	}
	if len(dead) == 0 || alive && all {
		c.refuse(why)
		return c.next()
	}
	return c.write(c.table.without(dead...))
}

// stand waits in the queue. It polls the heartbeats of the holders and of the claim before it.
func (c *claim) stand() effect {
	if e, ok := c.table.holder(c.me.ID); ok {
		c.phase = holding
		return granted{e.Token}
	}
	place := slices.IndexFunc(c.table.Waiters, func(e entry) bool { return e.ID == c.me.ID })
	if place < 0 {
		c.phase = entering // another process has removed it; so it goes to the end of the queue again
		return c.enter()
	}
	c.phase = waiting
	pause := c.pause * time.Duration(1+place/8) // a claim far from the front polls less often
	due := c.read.Add(pause)
	var dead, heartbeats []string
	for _, e := range c.before(place) {
		o := c.seen.Of(e.Heartbeat)
		silence := silenceOf(e.ttl())
		if o.Dead(silence) {
			dead = append(dead, e.ID)
			continue
		}
		next := nextLook(o, silence, pause)
		if next <= c.now {
			return lookHeartbeat{e.Heartbeat}
		}
		due = min(due, next)
		heartbeats = append(heartbeats, e.Heartbeat)
	}
	switch {
	case len(dead) > 0:
		return c.write(c.table.without(dead...))
	case due <= c.now:
		return readTable{}
	}
	return wait{due, heartbeats}
}

// nextLook is when to poll a heartbeat again: periodically, and at the end of a silence.
func nextLook(o heartbeat.Observation, silence, pause time.Duration) protocol.Instant {
	if !o.Known {
		return 0
	}
	if end := o.Since.Add(silence); end > o.Looked {
		return min(end, o.Looked.Add(pause))
	}
	return o.Looked.Add(pause)
}

// before returns the holders and the claim before a place in the queue, without those of this process.
func (c *claim) before(place int) []entry {
	all := slices.Clone(c.table.Holders)
	if place > 0 {
		all = append(all, c.table.Waiters[place-1])
	}
	return slices.DeleteFunc(all, func(e entry) bool { return e.Heartbeat == c.me.Heartbeat })
}
