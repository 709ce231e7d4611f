package postgres

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// grace is how long a lock must be free until its session is over. A process that lives hears that its connection was ended, by an administrator or a
	// firewall, and takes the proof back before that.
	grace = 150 * time.Millisecond

	waitFor   = 6 * time.Second        // one request that waits for the end of others: a longer one would keep old rows from being removed
	waitSlice = 250 * time.Millisecond // one wait for a lock: then it looks who is before us now. A server may log waits of deadlock_timeout (1 s)
	beatMost  = 30 * time.Second
	beatTTLs  = 3 // a session shows that it is alive after this many times its ttl, at most beatMost
	beatsEach = 4 // beats between two looks at the sessions of others
	beatLeast = 500 * time.Millisecond
	silentFor = 4 // times its ttl: then a session is removed that nothing proves to be alive or dead
)

// judge ends the sessions of processes that have ended. All handles with sessions are a ring, in the order of the sessions' numbers: each waits for the lock
// of the one before it, on a connection of its own, and so hears of its end when the server does.
type judge struct {
	s       *Store
	once    sync.Once
	looking atomic.Bool
}

func newJudge(s *Store) *judge { return &judge{s: s} }

// start begins to look after sessions. The caller is inside.
func (j *judge) start() {
	j.once.Do(func() {
		j.s.inside.Go(j.wait)
		j.s.inside.Go(j.beat)
	})
}

// look ends sessions whose locks are free, unless that is being done.
func (j *judge) look() {
	if j.s.options.ReadOnly || !j.looking.CompareAndSwap(false, true) {
		return
	}
	if !j.s.begin() {
		j.looking.Store(false)
		return
	}
	go func() {
		defer j.s.inside.Done()
		defer j.looking.Store(false)
		j.bury()
	}()
}

// wait waits for the end of the one before us, again and again.
func (j *judge) wait() {
	for wait := linePause; j.s.ctx.Err() == nil; wait = min(2*wait, linePauseMax) {
		c, err := j.s.dial(j.s.ctx, nil)
		if err == nil {
			wait = linePause
			err = j.waitOn(c)
			closeConn(c)
		}
		if j.s.ctx.Err() == nil {
			j.s.log.Debug("wait for the end of others", "store", j.s.place, "err", err)
			pause(j.s.ctx, wait)
		}
	}
}

func (j *judge) waitOn(c *conn) error {
	for j.s.ctx.Err() == nil {
		ids := j.s.sessionIDs()
		if len(ids) == 0 {
			pause(j.s.ctx, waitSlice)
			continue
		}
		ctx, cancel := context.WithTimeout(j.s.ctx, waitFor+j.s.options.Timeout)
		rows, err := c.exec(ctx, sqlAwaitEnd, slices.Min(ids), waitFor.Milliseconds(), waitSlice.Milliseconds())
		cancel()
		if err != nil {
			return err
		}
		if rows[0].int(0) != 0 {
			j.bury()
			pause(j.s.ctx, linePause) // what can't be buried is not asked for all the time
		}
	}
	return nil
}

// bury ends the sessions whose locks are free now and after the grace.
func (j *judge) bury() {
	free, err := j.s.ask(j.s.ctx, sqlFree, j.s.sessionIDs())
	if err != nil || len(free) == 0 || !wait(j.s.ctx, grace) {
		return
	}
	for _, r := range free {
		id := r.int(0)
		rows, err := j.s.change(j.s.ctx, sqlBury, id, r.text(1))
		if err != nil {
			j.s.log.Debug("end the session of a dead process", "store", j.s.place, "session", id, "err", err)
			return
		}
		if len(rows) > 0 {
			j.s.log.Info("ended the session of a dead process", "store", j.s.place, "session", id)
		}
	}
}

// wait waits for d; false if ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// observation is an observation of another's session.
type observation struct {
	beat  int64
	since time.Time // by our own clock
}

// beat shows that our sessions are alive, learns which of them others have ended, and removes those of others that were silent for long: they were left by
// processes whose end nobody could prove.
func (j *judge) beat() {
	seen := map[int64]observation{}
	for n := 1; wait(j.s.ctx, j.every()); n++ {
		ids := j.s.sessionIDs()
		if len(ids) == 0 {
			clear(seen)
			continue
		}
		rows, err := j.s.change(j.s.ctx, sqlBeat, ids)
		if err != nil {
			continue
		}
		j.notice(ids, rows)
		if n%beatsEach != 0 {
			continue
		}
		if rows, err = j.s.ask(j.s.ctx, sqlOthers, ids); err == nil {
			seen = j.observe(seen, rows, time.Now())
		}
	}
}

// every is the time between two beats: by the shortest ttl of our sessions, within bounds.
func (j *judge) every() time.Duration {
	every := beatMost
	for _, n := range j.s.openSessions() {
		every = min(every, beatTTLs*n.ttl)
	}
	return max(every, beatLeast)
}

// notice ends our sessions that others have ended.
func (j *judge) notice(asked []int64, alive []row) {
	left := make(map[int64]bool, len(alive))
	for _, r := range alive {
		left[r.int(0)] = true
	}
	for _, n := range j.s.openSessions() {
		if slices.Contains(asked, n.id) && !left[n.id] {
			n.end()
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
		if _, err := j.s.change(j.s.ctx, sqlEndSilent, id, beat); err != nil {
			j.s.log.Debug("end a silent session", "store", j.s.place, "session", id, "err", err)
		}
	}
	return after
}
