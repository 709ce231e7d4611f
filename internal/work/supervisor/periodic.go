package supervisor

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// place is where the present round of a periodic run is.
type roundPlace uint8

const (
	placeNone roundPlace = iota
	placeQueued
	placeRunning
	placeGone // the run has exited
)

// roundsTogether is between the times at which rounds of long periods are planned.
const roundsTogether = 50 * time.Millisecond

// longestCron is after how long a schedule by the wall clock looks at it again: it may have been set meanwhile.
const longestCron = 30 * time.Second

// periodic is the schedule of one periodic run. All but period and cron is guarded by pacer.mu; errors belongs to the
// one round. A member has tens of thousands of them, of which most wait for their next round: what others have is
// apart.
type periodic struct {
	run     *run
	base    context.Context // of rounds; never ends
	lane    *lane
	timer   timer[*periodic]
	period  time.Duration // zero with cron
	cron    plan          // nil without
	plan    plan          // by the wall clock; nil for a period below KeptFrom
	at      time.Time     // of plan: the next round
	next    protocol.Instant
	owed    []round   // are due and have not begun, in order; more than one only with CatchUpAll
	present *underway // nil while no round is queued or runs
	errors  *errorRow // nil while rounds are well, and were for a while
	place   roundPlace

	extra    *round        // was asked for, and has not begun
	asked    store.Version // the newest request for a round that this run knows
	answered store.Version // the newest one whose round is over
}

// underway is a round that is queued or runs.
type underway struct {
	round
	cancel context.CancelCauseFunc // nil until it runs
}

// round is one round that is due: since when, and for what time by the wall clock.
type round struct {
	due     protocol.Instant
	planned time.Time
	asked   store.Version // the request that it answers
	extra   bool          // nothing but that request has planned it
}

// newPeriodic reads the schedule of the run's definition.
func newPeriodic(r *run) (*periodic, error) {
	e := &periodic{run: r}
	e.timer.value = e
	d := r.definition
	if d.Cron != "" {
		var err error
		e.cron, err = cronPlan(d)
		return e, err
	}
	e.period = cmp.Or(millis(min(d.EveryMS, longestRetryMS)), r.typ.DefaultEvery)
	if e.period <= 0 {
		return nil, &work.ConfigError{Path: "every", Err: errors.New("there is no period"), Hint: "every: 10s"}
	}
	return e, nil
}

// long tells a schedule by the wall clock from a short period.
func (e *periodic) long() bool { return e.cron != nil || e.period >= KeptFrom }

// keeps reports whether the last round is kept for the next owner.
func (e *periodic) keeps() bool { return e.long() && e.run.s.conf.Positions != nil }

// begin sets the first round.
func (e *periodic) begin(now protocol.Instant, wall time.Time, spread time.Duration, last lastRound) {
	hash := hashID(e.run.id)
	if !e.long() {
		e.next = firstDue(now, hash, min(e.period, spread))
		return
	}
	wall = wall.UTC()
	switch {
	case e.cron != nil:
		e.plan = e.cron
	case last.at.IsZero() || last.at.Sub(wall) > e.period: // nobody has run it, or by a clock that was wrong
		e.at = together(wall.Add(firstDue(now, hash, min(e.period, spread)).Sub(now)))
		e.plan = everyPeriod{from: e.at, period: e.period}
		e.next = e.instant(now, wall)
		return
	default:
		e.plan = everyPeriod{from: last.at, period: e.period}
	}
	e.goOn(now, wall, last)
	e.next = e.instant(now, wall)
	if len(e.owed) > 0 && e.cron == nil {
		e.next = min(e.next, firstDue(now, hash, min(spread, e.at.Sub(wall))))
	} else if len(e.owed) > 0 {
		e.next = now
	}
}

// together is the next time at which rounds of long periods are planned. Those of a member that fall on the same one
// wake it once, and their last rounds share a transaction of the store.
func together(at time.Time) time.Time {
	if on := at.Truncate(roundsTogether); on.Before(at) {
		return on.Add(roundsTogether)
	}
	return at
}

// goOn goes on after the last round of an earlier owner: at is the next one, and what was planned in between is owed.
func (e *periodic) goOn(now protocol.Instant, wall time.Time, last lastRound) {
	after := last.at
	if after.Sub(wall) > 24*time.Hour { // by a clock that was wrong
		after = wall
	}
	e.at = e.plan.Next(later(after, wall))
	if after.IsZero() {
		return
	}
	missed, more := e.planned(e.plan.Next(later(after, last.since)), wall)
	if e.run.definition.CatchUp == work.CatchUpSkip {
		missed, more = nil, more+int64(len(missed))
	}
	e.run.skip(more)
	for _, at := range missed {
		e.owed = append(e.owed, round{due: now.Add(-wall.Sub(at)), planned: at})
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// planned lists the planned times from the first up to wall, those that are made up for, and counts the others.
func (e *periodic) planned(first, wall time.Time) (times []time.Time, more int64) {
	most := 1
	if e.run.definition.CatchUp == work.CatchUpAll {
		most = maxOwed
	}
	if oldest := wall.Add(-longestOwed); !first.IsZero() && first.Before(oldest) {
		first = e.plan.Next(oldest)
	}
	for at := first; !at.IsZero() && !at.After(wall); at = e.plan.Next(at) {
		if len(times) == most {
			copy(times, times[1:])
			times, more = times[:most-1], more+1
		}
		times = append(times, at)
	}
	return times, more
}

// schedule is called when the timer fires: it sets next, adds the due rounds to those that are owed, and returns how
// many are skipped.
func (e *periodic) schedule(now protocol.Instant, wallClock func() time.Time) (skipped int64) {
	wall := wallClock().UTC()
	if e.plan == nil {
		due := e.next
		e.next, skipped = nextDue(due, e.period, now)
		due = due.Add(time.Duration(skipped) * e.period)
		return skipped + e.owe(round{due: due, planned: wall.Add(-now.Sub(due))})
	}
	if e.period > 0 && e.at.Sub(wall) > e.period { // the wall clock was set back
		e.at = wall.Add(e.period)
		e.plan = everyPeriod{from: e.at, period: e.period}
	}
	if !wall.Before(e.at) && !e.at.IsZero() {
		times, more := e.planned(e.at, wall)
		skipped = more
		for _, at := range times {
			skipped += e.owe(round{due: now.Add(-wall.Sub(at)), planned: at})
		}
		e.at = e.plan.Next(wall)
	}
	e.next = e.instant(now, wall)
	return skipped
}

// owe adds a due round, and returns how many are skipped for it.
func (e *periodic) owe(r round) (skipped int64) {
	switch {
	case e.run.definition.CatchUp == work.CatchUpAll && e.plan != nil:
		if len(e.owed) >= maxOwed {
			e.owed, skipped = e.owed[1:], 1
		}
		e.owed = append(e.owed, r)
		return skipped
	case e.place != placeNone:
		return 1
	}
	skipped = int64(len(e.owed))
	e.owed = append(e.owed[:0], r)
	return skipped
}

// instant is when to look at the wall clock again.
func (e *periodic) instant(now protocol.Instant, wall time.Time) protocol.Instant {
	if e.at.IsZero() { // a schedule such as 31 February never comes
		return now.Add(longestCron)
	}
	return now.Add(min(e.at.Sub(wall), longestCron))
}

// round is one round in its own goroutine.
func (p *pacer) round(e *periodic) {
	defer p.s.runs.Done()
	defer p.over(e)
	r := e.run
	began := p.s.clock()
	if !r.valid() {
		r.expired()
		return
	}
	ctx, cancel := r.context(e.base)
	defer cancel(nil)
	p.mu.Lock()
	e.present.cancel = cancel
	p.mu.Unlock()
	if r.stopped.Load() { // stopped before cancel could be seen
		return
	}
	g := r.grant()
	g.Planned = e.present.planned
	r.call(ctx, g, func(err error) {
		whole := err == nil || !r.stopped.Load() // one that was cut short is for the next owner
		e.done(began, err)
		if whole && e.keeps() && !e.present.extra {
			e.keep(g.Planned)
		}
		if whole {
			e.answer()
		}
	})
}

// done notes how a round went.
func (e *periodic) done(began protocol.Instant, err error) {
	r := e.run
	ended := r.s.clock()
	if r.stopped.Load() {
		err = nil // what an ended ctx makes of a round is nobody's error
	} else {
		e.journal(ended, err)
	}
	late, took := max(began.Sub(e.present.due), 0), ended.Sub(began)
	r.s.lateness.add(late)
	r.mu.Lock()
	r.stats.rounds++
	r.stats.lateness, r.stats.took = late, took
	r.stats.result(err, r.s.conf.Wall().UnixMilli())
	r.mu.Unlock()
	r.s.conf.Events.roundDone(RoundDone{Partition: r.id, Token: r.token, Type: r.typ.Name, Lateness: late, Took: took,
		Err: err})
}

// journal writes what is worth a record: the beginning, the growing length and the end of a row of failures.
func (e *periodic) journal(now protocol.Instant, err error) {
	record := journal.Record{Kind: journal.Recovered, Partition: string(e.run.id), Token: uint64(e.run.token)}
	switch {
	case err == nil && e.errors == nil:
		return
	case err == nil:
		record.Message = e.errors.success(now)
		if e.errors.over(now) {
			e.errors = nil
		}
	default:
		if e.errors == nil {
			e.errors = &errorRow{}
		}
		text := safetext.Cut(err.Error(), maxMessage)
		record.Kind, record.Message = journal.RunError, e.errors.failure(now, text)
	}
	if record.Message != "" {
		e.run.s.journal(record)
	}
}

func (r *run) skip(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.skipped += n
	r.s.skipped.Add(n)
}

func (r *run) expired() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.expired++
}
