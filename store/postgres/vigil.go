package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// vigil is a row of the table of sessions, to which its rows refer: they are removed with it.
type vigil struct {
	s     *schema
	id    int64
	ttl   time.Duration
	ended chan struct{}
	once  sync.Once
}

// Vigil implements driver.Vigils. Where the end of its process cannot be noticed, it is removed after four times the
// ttl.
func (s *schema) Vigil(ctx context.Context, ttl time.Duration) (driver.Vigil, error) {
	calling, leave, err := s.life.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v := &vigil{s: s, id: newID(), ttl: ttl, ended: make(chan struct{})}
	if _, err := s.change(calling, sqlOpenSession, v.id, s.owner, ttl.Milliseconds()); err != nil {
		return nil, inner.NotDone(err) // a session that nobody knows holds nothing, and is removed when it was silent
	}
	s.mu.Lock()
	s.vigils[v.id] = v
	s.mu.Unlock()
	s.line.awaitTie(calling)
	return v, nil
}

// EndVigil implements driver.Vigils.
func (s *schema) EndVigil(ctx context.Context, key string) error {
	text, ours := strings.CutPrefix(key, keyPrefix)
	id, err := strconv.ParseInt(text, 10, 64)
	if !ours || err != nil {
		return errors.New("the key is not that of a session of PostgreSQL")
	}
	return s.endSession(ctx, id)
}

// keyPrefix is what the key of a vigil begins with.
const keyPrefix = "postgres/"

func (w *wire) endSession(ctx context.Context, id int64) error {
	ctx, leave, err := w.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, err = w.change(ctx, sqlEndSession, id)
	return err
}

// open are the vigils of this handle that have not ended.
func (w *wire) open() []*vigil {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*vigil, 0, len(w.vigils))
	for _, v := range w.vigils { // order-free: each is looked at alone
		all = append(all, v)
	}
	return all
}

// EndKey implements driver.Vigil.
func (v *vigil) EndKey() store.EndKey {
	return store.EndKey{Text: keyPrefix + strconv.FormatInt(v.id, 10)}
}

// Ended implements driver.Vigil.
func (v *vigil) Ended() <-chan struct{} { return v.ended }

// lost notes that others have ended it.
func (v *vigil) lost() { v.once.Do(func() { close(v.ended) }) }

// Swap implements driver.Hold.
func (v *vigil) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	at, err := v.s.swap(ctx, op, v.id)
	if errors.Is(err, store.ErrConflict) && v.removed(ctx) {
		err = fmt.Errorf("%w: others have ended it", store.ErrSession)
	}
	if errors.Is(err, store.ErrSession) {
		v.lost()
	}
	return at, err
}

// removed reports whether others have ended it, so that its rows are gone: that is why a version was not current.
func (v *vigil) removed(ctx context.Context) bool {
	rows, err := v.s.ask(ctx, sqlSessionExists, v.id)
	return err == nil && len(rows) == 0
}

// End implements driver.Hold.
func (v *vigil) End(ctx context.Context) error { return v.s.endSession(ctx, v.id) }

// Close implements driver.Hold.
func (v *vigil) Close() {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	delete(v.s.vigils, v.id)
}

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
	again   wait.Wake // see line
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
	for rest := linePause; j.w.life.Ctx.Err() == nil; rest = min(2*rest, linePauseMax) {
		c, err := j.w.dial(j.w.life.Ctx, nil)
		if err == nil {
			rest = linePause
			err = j.waitOn(c)
			closeConn(c)
		}
		if j.w.life.Ctx.Err() == nil {
			j.w.log.Debug("wait for the end of others", "err", err)
			pauseOr(j.w.life.Ctx, rest, j.again)
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
