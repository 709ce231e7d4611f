package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/internal/wait"
)

const (
	// grace is how long a lock must be free until its sessions are over. A process that lives hears that its connection
	// was ended, by an administrator or a firewall, and takes the proof back before that. It dials, logs in and takes
	// the lock: where one request of ours is slow, it gets the time of a few more, within a bound.
	grace         = 150 * time.Millisecond
	graceRequests = 5
	graceMost     = time.Second

	waitFor   = 6 * time.Second        // one request that waits for others: a longer one would keep old rows from being removed
	waitSlice = 250 * time.Millisecond // one wait for a lock: then it looks who is before us now. A server may log waits of 1 s
	beatMost  = 30 * time.Second
	beatTTLs  = 3 // a session shows that it is alive after this many times its ttl, at most beatMost
	beatsEach = 4 // beats between two looks at the sessions of others
	beatLeast = 500 * time.Millisecond
	silentFor = 4 // times its ttl: then a session is removed that nothing proves to be alive or dead
)

// judge ends the sessions of processes that have ended. All handles with a lock are a ring, in the order of their
// numbers: each waits for the lock of the one before it, on a connection of its own, and so hears of its end when the
// server does.
type judge struct {
	w       *wire
	looking atomic.Bool
}

// start begins to look after sessions.
func (j *judge) start() {
	j.w.life.Begin(j.wait)
	j.w.life.Begin(j.beat)
}

// look ends sessions whose locks are free, unless that is being done.
func (j *judge) look() {
	if j.w.options.ReadOnly || !j.looking.CompareAndSwap(false, true) {
		return
	}
	if !j.w.life.Begin(func() { j.bury(); j.looking.Store(false) }) {
		j.looking.Store(false)
	}
}

// wait waits for the end of the one before us, again and again.
func (j *judge) wait() {
	for wait := linePause; j.w.life.Ctx.Err() == nil; wait = min(2*wait, linePauseMax) {
		c, err := j.w.dial(j.w.life.Ctx, nil)
		if err == nil {
			wait = linePause
			err = j.waitOn(c)
			closeConn(c)
		}
		if j.w.life.Ctx.Err() == nil {
			j.w.log.Debug("wait for the end of others", "err", err)
			pause(j.w.life.Ctx, wait)
		}
	}
}

func (j *judge) waitOn(c *conn) error {
	for j.w.life.Ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(j.w.life.Ctx, waitFor+j.w.options.Timeout)
		rows, err := c.exec(ctx, sqlAwaitEnd, j.w.owner, waitFor.Milliseconds(), waitSlice.Milliseconds())
		cancel()
		if err != nil {
			return err
		}
		if rows[0].int(0) != 0 {
			j.bury()
			pause(j.w.life.Ctx, linePause) // what can't be buried is not asked for all the time
		}
	}
	return nil
}

// bury ends the sessions whose locks are free now and after the grace.
func (j *judge) bury() {
	began := time.Now()
	free, err := j.w.ask(j.w.life.Ctx, sqlFreeLocks, j.w.owner)
	if err != nil || len(free) == 0 || !wait.For(j.w.life.Ctx, graceAfter(time.Since(began))) {
		return
	}
	for _, r := range free {
		rows, err := j.w.change(j.w.life.Ctx, sqlBury, r.int(0), r.text(1), tieMost.Milliseconds())
		if err != nil {
			j.w.log.Debug("end the sessions of a dead process", "owner", r.int(0), "err", err)
			return
		}
		if len(rows) > 0 {
			j.w.log.Info("ended the sessions of a dead process", "owner", r.int(0))
		}
	}
}

// graceAfter is the grace where a request took so long.
func graceAfter(request time.Duration) time.Duration {
	return min(grace+graceRequests*request, graceMost)
}

// observation is an observation of another's session.
type observation struct {
	beat  int64
	since time.Time // by our own clock
}

// beat shows that our sessions are alive, learns which of them others have ended, and removes those of others that were
// silent for long: they were left by processes whose end nobody could prove.
func (j *judge) beat() {
	seen := map[int64]observation{}
	for n := 1; wait.For(j.w.life.Ctx, j.every()); n++ {
		asked := j.w.open()
		if len(asked) == 0 {
			clear(seen)
			continue
		}
		rows, err := j.w.change(j.w.life.Ctx, sqlBeat, j.w.owner)
		if err != nil {
			continue
		}
		notice(asked, rows)
		if n%beatsEach != 0 {
			continue
		}
		if rows, err = j.w.ask(j.w.life.Ctx, sqlOthers, j.w.owner); err == nil {
			seen = j.observe(seen, rows, time.Now())
		}
	}
}

// every is the time between two beats: by the shortest ttl of our sessions, within bounds.
func (j *judge) every() time.Duration {
	every := beatMost
	for _, v := range j.w.open() {
		every = min(every, beatTTLs*v.ttl)
	}
	return max(every, beatLeast)
}

// notice ends our sessions that others have ended.
func notice(asked []*vigil, alive []row) {
	left := make(map[int64]bool, len(alive))
	for _, r := range alive {
		left[r.int(0)] = true
	}
	for _, v := range asked {
		if !left[v.id] {
			v.lost()
		}
	}
}

// observe compares the sessions of others with what was seen before, and removes the silent ones.
func (j *judge) observe(before map[int64]observation, rows []row, now time.Time) map[int64]observation {
	after := make(map[int64]observation, len(rows))
	for _, r := range rows {
		id, ttl, beat := r.int(0), time.Duration(r.int(1))*time.Millisecond, r.int(2)
		was, known := before[id]
		if !known || was.beat != beat {
			was = observation{beat, now}
		}
		after[id] = was
		if now.Sub(was.since) < silentFor*max(ttl, beatMost) {
			continue
		}
		if _, err := j.w.change(j.w.life.Ctx, sqlEndSilent, id, beat); err != nil {
			j.w.log.Debug("end a silent session", "session", id, "err", err)
		}
	}
	return after
}
