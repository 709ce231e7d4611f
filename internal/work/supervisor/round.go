package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// KeptFrom is the shortest period whose last round is kept for the next owner. With a shorter one the store would get
// too many writes, and an extra round costs little.
const KeptFrom = time.Minute

// The times of reading and writing the last round: how long a write may take, and the pauses between failed reads.
const (
	keepWithin   = 5 * time.Second
	firstReread  = time.Second
	longestRetry = 30 * time.Second
)

// lastRound is what is known of the rounds of earlier owners.
type lastRound struct {
	at    time.Time // when the last one that has run was planned; zero for none
	since time.Time // when the job's definition was accepted: what was planned before is not caught up
}

// enter puts a periodic run on the wheel. One whose rounds are kept waits for readEntered.
func (p *pacer) enter(ctx context.Context, r *run) {
	if !r.periodic.keeps() {
		p.add(ctx, r, lastRound{})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = append(p.entries, entry{ctx, r})
}

// readEntered starts to read which was the last round of those that have entered: until that is known none of theirs
// begins. It is called when all that could be started at once has been: the reads do not delay that, and take many in
// one request.
func (p *pacer) readEntered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for missing := len(p.entries); missing > 0 && p.readers < maxReads; missing -= p.perRead() { // those that read already may wait for the store
		p.readers++
		p.s.runs.Add(1)
		go p.readEntries()
	}
}

// enterAlone reads the last round of one run, and tries again until it is known or the run is over.
func (p *pacer) enterAlone(ctx context.Context, r *run) {
	reading, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	r.cancel = cancel
	over := r.stopped.Load()
	r.mu.Unlock()
	if over {
		cancel(nil)
		return
	}
	p.s.runs.Add(1)
	go func() {
		defer p.s.runs.Done()
		last, ok := p.read(reading, r)
		cancel(nil)
		r.mu.Lock()
		r.cancel = nil // it would keep its ctx as long as the run
		r.mu.Unlock()
		if ok {
			p.add(ctx, r, last)
		}
	}()
}

// read reads the last round until it is known; false if the run is over before.
func (p *pacer) read(ctx context.Context, r *run) (last lastRound, ok bool) {
	last.since = r.acceptedAt()
	for pause := firstReread; ; pause = min(2*pause, longestRetry) {
		var err error
		if last.at, err = p.readOnce(ctx, r); err == nil {
			return last, true
		}
		if ctx.Err() != nil || errors.Is(err, work.ErrToken) {
			return last, false
		}
		r.log().Warn("cannot read which round was the last; none begins before", "error", err)
		if pause == firstReread {
			r.s.journal(journal.Record{Kind: journal.RunError, Partition: string(r.id), Token: uint64(r.token),
				Message: fmt.Sprintf("no round begins before it is known which was the last: %v", err)})
		}
		select {
		case <-ctx.Done():
			return last, false
		case <-time.After(pause):
		}
	}
}

// readOnce reads it, in its turn. A cron line that nobody has run begins to count: what is planned from now on is
// caught up by the next owner.
func (p *pacer) readOnce(ctx context.Context, r *run) (time.Time, error) {
	select {
	case p.reads <- struct{}{}:
		defer func() { <-p.reads }()
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
	_, saved, err := r.readPosition(ctx, r.id, r.token)
	if err != nil {
		return time.Time{}, err
	}
	if at, ok := r.lastRound(saved); ok {
		return at, nil
	}
	now := r.s.conf.Wall().UTC()
	return now, r.saveRound(ctx, now)
}

// lastRound is when the last round was planned, by the document; zero for none. Not ok is a cron line that begins to
// count now.
func (r *run) lastRound(saved storedPosition) (at time.Time, ok bool) {
	if saved.RoundMS != 0 {
		return time.UnixMilli(saved.RoundMS).UTC(), true
	}
	return time.Time{}, r.definition.Cron == ""
}

// acceptedAt is when the job was submitted or updated.
func (r *run) acceptedAt() time.Time {
	if r.s.conf.Value == nil {
		return time.Time{}
	}
	job, _, _ := r.id.Split()
	if j, ok := r.s.conf.Value().Job(job); ok {
		return time.UnixMilli(j.SinceMS).UTC()
	}
	return time.Time{}
}

// keep stores that the present round was the last one, before the run can be over: the next owner begins with the one
// after it. Where the store does not take it, a later round says as much, and an owner that comes before that repeats
// this one.
func (e *periodic) keep(planned time.Time) {
	ctx, cancel := context.WithTimeout(e.base, keepWithin)
	defer cancel()
	if err := e.run.saveRound(ctx, planned); err != nil && !errors.Is(err, work.ErrToken) {
		e.run.log().Warn("cannot keep that a round has run; another owner would run it again", "planned", planned,
			"error", err)
	}
}

func (r *run) saveRound(ctx context.Context, planned time.Time) error {
	return r.changePosition(ctx, r.id, r.token, func(p *storedPosition) { p.RoundMS = planned.UnixMilli() })
}

// RoundTimes are those of a task that runs in rounds, by the wall clocks of its owners.
type RoundTimes struct {
	Last time.Time // for when the last round was planned that is over; zero where none is known
	Next time.Time // for when the next one is planned; zero where that is not known
}

// KeptRounds reads when the last round of a partition was and says when the next one is, in one request. It knows those
// of a cron line and of periods from [KeptFrom] up: the last round of a shorter one is known to the owner alone.
func KeptRounds(ctx context.Context, docs store.Docs, id cluster.PartitionID, spec *cluster.TaskSpec,
	now time.Time) (RoundTimes, error) {
	d, err := decodeDefinition(spec)
	period := time.Duration(0)
	if err == nil {
		period = millis(min(d.EveryMS, longestRetryMS))
	}
	if err != nil || d.Cron == "" && period < KeptFrom {
		return RoundTimes{}, nil //nolint:nilerr // a definition that cannot be read has no rounds
	}
	doc, err := docs.Get(ctx, positionKey(id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return RoundTimes{}, fmt.Errorf("read the last round of %s: %w", id, err)
	}
	saved := storedPosition{}
	if err == nil {
		if saved, err = decodePosition(doc); err != nil {
			return RoundTimes{}, err
		}
	}
	return roundsOf(d, period, saved, now.UTC())
}

func roundsOf(d *work.Definition, period time.Duration, saved storedPosition, now time.Time) (t RoundTimes, err error) {
	if saved.RoundMS != 0 {
		t.Last = time.UnixMilli(saved.RoundMS).UTC()
	}
	switch {
	case d.Cron != "":
		p, err := cronPlan(d)
		if err != nil {
			return RoundTimes{}, err
		}
		if !p.Next(t.Last.Add(-time.Millisecond)).Equal(t.Last) { // nothing has run: it counts from there
			t.Last = time.Time{}
		}
		t.Next = p.Next(now)
	case !t.Last.IsZero():
		t.Next = everyPeriod{from: t.Last, period: period}.Next(later(t.Last, now))
	}
	return t, nil
}

// histogram counts durations in buckets of at most 12.5 % width, from 1 µs. Safe from any goroutine; the zero value is
// empty.
type histogram struct {
	buckets [64 * 8]atomic.Int64
	most    atomic.Int64 // µs
}

func (h *histogram) add(d time.Duration) {
	us := max(d.Microseconds(), 0)
	h.buckets[bucket(us)].Add(1)
	for m := h.most.Load(); us > m && !h.most.CompareAndSwap(m, us); m = h.most.Load() {
	}
}

// bucket: below 8 one for each µs, then eight for each power of two.
func bucket(us int64) int {
	if us < 8 {
		return int(us)
	}
	n := bits.Len64(uint64(us)) - 4 // bits below the top four
	return n*8 + int(us>>n)
}

// upper is the largest duration, in µs, of a bucket.
func upper(b int) int64 {
	if b < 8 {
		return int64(b)
	}
	n := b/8 - 1
	return int64(b-n*8+1)<<n - 1
}

// quantiles returns how late rounds were.
func (h *histogram) quantiles() Lateness {
	var counts [64 * 8]int64
	var total int64
	for i := range h.buckets {
		counts[i] = h.buckets[i].Load()
		total += counts[i]
	}
	l := Lateness{Rounds: total, MaxUS: h.most.Load()}
	var seen int64
	for i, n := range counts {
		if before := seen; n > 0 {
			seen += n
			if before*2 < total && seen*2 >= total {
				l.P50US = min(upper(i), l.MaxUS)
			}
			if before*100 < total*99 && seen*100 >= total*99 {
				l.P99US = min(upper(i), l.MaxUS)
			}
		}
	}
	return l
}

// Bounds are the upper bounds of the buckets of a [Histogram].
func Bounds() [14]time.Duration {
	const ms, s, m = time.Millisecond, time.Second, time.Minute
	return [...]time.Duration{ms, 5 * ms, 10 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, s, 2500 * ms, 5 * s, 10 * s,
		30 * s, m, 10 * m}
}

// Histogram counts durations. It is plain data, and the zero value is empty.
type Histogram struct {
	Count int64
	Sum   time.Duration
	Upto  [14]int64 // how many were at most as long as the bound of the same index
}

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	h.Count++
	h.Sum += d
	for i, bound := range Bounds() {
		if d <= bound {
			h.Upto[i]++
		}
	}
}
