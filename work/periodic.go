package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

// place is where the present round of a periodic run is.
type roundPlace uint8

const (
	placeNone roundPlace = iota
	placeQueued
	placeRunning
	placeGone // the run has exited
)

// longestCron is after how long a cron schedule looks at the wall clock again: it may have been set meanwhile.
const longestCron = 30 * time.Second

// periodic is the schedule of one periodic run. All but period and cron is guarded by pacer.mu; errors belongs to the one round.
type periodic struct {
	run    *run
	base   context.Context // of rounds; never ends
	lane   *lane
	timer  timer[*periodic]
	period time.Duration // zero with cron
	cron   cron.Schedule
	at     time.Time        // cron: the next round by the wall clock
	next   protocol.Instant // when the timer fires
	due    protocol.Instant // of the present round
	place  roundPlace
	cancel context.CancelCauseFunc
	errors errorRow
}

// newPeriodic reads the schedule of the run's definition.
func newPeriodic(r *run) (*periodic, error) {
	e := &periodic{run: r}
	e.timer.value = e
	d := r.grant.Definition
	if d.Cron != "" {
		schedule, err := cron.ParseStandard("CRON_TZ=UTC " + d.Cron)
		if err != nil {
			return nil, &ConfigError{Path: "cron", Err: err, Hint: "five fields in UTC, such as \"*/5 * * * *\""}
		}
		e.cron = schedule
		return e, nil
	}
	e.period = cmp.Or(millis(min(d.EveryMS, longestRetryMS)), r.typ.DefaultEvery)
	if e.period <= 0 {
		return nil, &ConfigError{Path: "every", Err: errors.New("there is no period"), Hint: "every: 10s"}
	}
	return e, nil
}

// begin sets the first round.
func (e *periodic) begin(now protocol.Instant, wall time.Time, spread time.Duration) {
	if e.cron != nil {
		e.at = e.cron.Next(wall.UTC())
		e.next = e.cronInstant(now, wall)
		return
	}
	e.next = firstDue(now, hashID(e.run.grant.Partition), min(e.period, spread))
}

// schedule is called when the timer fires: it sets next and tells whether, and since when, a round is due.
func (e *periodic) schedule(now protocol.Instant, wallClock func() time.Time) (due protocol.Instant, skipped int64, isDue bool) {
	due = e.next
	if e.cron == nil {
		e.next, skipped = nextDue(due, e.period, now)
		return due.Add(time.Duration(skipped) * e.period), skipped, true
	}
	wall := wallClock().UTC()
	if isDue = !wall.Before(e.at) && !e.at.IsZero(); isDue {
		due = now.Add(-wall.Sub(e.at))
		e.at = e.cron.Next(wall)
	}
	e.next = e.cronInstant(now, wall)
	return due, 0, isDue
}

// cronInstant is when to look at the wall clock again.
func (e *periodic) cronInstant(now protocol.Instant, wall time.Time) protocol.Instant {
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
	if !r.Trusted(r.grant) {
		r.distrusted()
		return
	}
	ctx, cancel := r.context(e.base)
	defer cancel(nil)
	p.mu.Lock()
	e.cancel = cancel
	p.mu.Unlock()
	if r.stopped.Load() { // stopped before cancel could be seen
		return
	}
	r.call(ctx, func(err error) { e.done(began, err) })
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
	late, took := max(began.Sub(e.due), 0), ended.Sub(began)
	r.s.lateness.add(late)
	r.mu.Lock()
	r.stats.rounds++
	r.stats.lateness, r.stats.took = late, took
	if err == nil {
		r.stats.inRow = 0
	} else {
		r.stats.failures++
		r.stats.inRow++
		r.stats.lastError, r.stats.lastErrorMS = err.Error(), r.s.conf.Wall().UnixMilli()
	}
	r.mu.Unlock()
	g := r.grant
	r.s.conf.Events.roundDone(RoundDone{Partition: g.Partition, Token: g.Token, Type: r.typ.Name, Lateness: late, Took: took, Err: err})
}

// journal writes what is worth a record: the beginning, the growing length and the end of a row of failures.
func (e *periodic) journal(now protocol.Instant, err error) {
	record := journal.Record{Kind: journal.Recovered, Partition: string(e.run.grant.Partition), Token: uint64(e.run.grant.Token)}
	if err == nil {
		record.Message = e.errors.success()
	} else {
		record.Kind, record.Message = journal.RunError, e.errors.failure(now, fmt.Sprint(err))
	}
	if record.Message != "" {
		e.run.s.journal(record)
	}
}

func (r *run) skip(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.skipped += n
}

func (r *run) distrusted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.untrusted++
}
