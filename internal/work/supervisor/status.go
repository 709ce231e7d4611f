package supervisor

import (
	"context"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Status is the part of the state of runs that only this process knows.
type Status struct {
	Version  uint64      `json:"version"`  // of the newest applied assignment
	LeaseMS  int64       `json:"lease_ms"` // remaining time of the lease; negative: time since it expired
	Counts   Counts      `json:"counts"`
	Lateness Lateness    `json:"lateness"`
	Skipped  int64       `json:"skipped"`        // rounds, over the life of the process, that were due while one before still ran, or the process did not
	Unsent   int64       `json:"unsent_samples"` // samples dropped because there is no publisher
	Runs     []RunStatus `json:"runs"`           // sorted by partition
}

// Counts are the partitions by state.
type Counts struct {
	Waiting    int `json:"waiting"`
	BackingOff int `json:"backing_off"`
	Queued     int `json:"queued"`
	Running    int `json:"running"`
	Stopping   int `json:"stopping"`
	Finished   int `json:"finished"`
	Failed     int `json:"failed"`
	Failing    int `json:"failing"` // number of running periodic partitions whose last round failed
}

// Lateness is how late rounds began, in µs, since the process started; quantiles are exact to 12.5 %.
type Lateness struct {
	Rounds int64 `json:"rounds"`
	P50US  int64 `json:"p50_us"`
	P99US  int64 `json:"p99_us"`
	MaxUS  int64 `json:"max_us"`
}

// RunStatus is one partition on this member.
type RunStatus struct {
	Partition   cluster.PartitionID `json:"partition"`
	Token       cluster.Token       `json:"token"`
	Type        string              `json:"type,omitempty"`
	State       string              `json:"state"` // waiting, backing off, queued, running, stopping, finished, failed
	Ignores     bool                `json:"ignores_cancel,omitempty"`
	SinceMS     int64               `json:"since_ms,omitempty"` // wall clock of the start
	Attempt     int64               `json:"attempt,omitempty"`  // failures so far
	Rounds      int64               `json:"rounds,omitempty"`
	Failures    int64               `json:"failures,omitempty"`      // failed rounds
	FailedInRow int64               `json:"failed_in_row,omitempty"` // failed rounds since the last successful one
	FailingMS   int64               `json:"failing_ms,omitempty"`    // wall clock of the first of those
	NextMS      int64               `json:"next_ms,omitempty"`       // wall clock of the next planned round
	Skipped     int64               `json:"skipped,omitempty"`       // rounds that were due while a previous one still ran, or while the process did not run
	Expired     int64               `json:"expired_lease,omitempty"` // rounds not begun because the lease had expired
	LatenessUS  int64               `json:"lateness_us,omitempty"`
	TookUS      int64               `json:"took_us,omitempty"`
	LastError   string              `json:"last_error,omitempty"`
	LastErrorMS int64               `json:"last_error_ms,omitempty"` // wall clock
}

// Status returns the present status. It may be called from any goroutine; it costs O(runs).
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Version: s.state.version, Lateness: s.lateness.quantiles(), Skipped: s.skipped.Load(),
		Unsent: s.unsent.Load(), Runs: make([]RunStatus, 0, len(s.state.order))}
	if s.state.assigned {
		st.LeaseMS = s.state.validUntil.Sub(s.clock()).Milliseconds()
	}
	for _, p := range s.state.order {
		st.Counts.add(p.phase)
		r := p.status()
		if live := s.live[p.id]; live != nil && live.token == p.token {
			live.addTo(&r)
			r.NextMS = s.pacer.nextMS(live)
		}
		if r.FailedInRow > 0 {
			st.Counts.Failing++
		}
		st.Runs = append(st.Runs, r)
	}
	return st
}

// Retries reports whether the run has failed and waits before it starts again.
func (r *RunStatus) Retries() bool {
	return r.State == phaseBackoff.String() || r.State == phaseFailed.String()
}

func (p *part) status() RunStatus {
	r := RunStatus{Partition: p.id, Token: p.token, State: p.phase.String(), Ignores: p.ignored &&
		p.phase == phaseStopping, LastError: p.message, Attempt: p.attempt}
	if p.grant != nil {
		r.Type = p.grant.Spec.Type
		if p.phase <= phaseQueued {
			r.Token, r.Attempt = p.grant.Token, p.grant.Attempt
		}
	}
	return r
}

func (r *run) addTo(st *RunStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st.SinceMS = r.sinceMS
	st.Rounds, st.Failures, st.Skipped, st.Expired = r.stats.rounds, r.stats.failures, r.stats.skipped, r.stats.expired
	st.FailedInRow = r.stats.inRow
	st.LatenessUS, st.TookUS = r.stats.lateness.Microseconds(), r.stats.took.Microseconds()
	if last := r.stats.last; last != nil {
		st.LastError, st.LastErrorMS = last.message, last.atMS
		if r.stats.inRow > 0 {
			st.FailingMS = last.sinceMS
		}
	}
}

func (c *Counts) add(p phase) {
	switch p {
	case phaseIdle:
		c.Waiting++
	case phaseBackoff:
		c.BackingOff++
	case phaseQueued:
		c.Queued++
	case phaseRunning:
		c.Running++
	case phaseStopping:
		c.Stopping++
	case phaseFinished:
		c.Finished++
	case phaseFailed:
		c.Failed++
	}
}

// entry is a periodic run whose last round has yet to be read.
type entry struct {
	ctx context.Context
	run *run
}

// entriesPerRead bounds how many last rounds are read in one request.
const entriesPerRead = 64

// readEntries reads the last rounds of runs that enter, many in one request where the store can, until none waits. A
// member that gets thousands of partitions at once has no goroutine for each of them.
func (p *pacer) readEntries() {
	defer p.s.runs.Done()
	for {
		some := p.takeEntries()
		if len(some) == 0 {
			return
		}
		p.enterMany(some)
	}
}

// perRead is how many are read in one request.
func (p *pacer) perRead() int {
	if _, ok := p.s.conf.Positions.(store.GetMany); ok {
		return entriesPerRead
	}
	return 1
}

// takeEntries takes the next ones that are not over; none ends the reader.
func (p *pacer) takeEntries() (some []entry) {
	most := p.perRead()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.entries) > 0 && len(some) < most {
		e := p.entries[0]
		p.entries[0] = entry{}
		p.entries = p.entries[1:]
		if e.run.periodic.place != placeGone {
			some = append(some, e)
		}
	}
	if len(some) == 0 {
		p.readers--
		p.entries = nil
	}
	return some
}

// enterMany puts runs on the wheel. What one request does not settle is for enterAlone, which tries again.
func (p *pacer) enterMany(some []entry) {
	keys := make([]string, len(some))
	for i, e := range some {
		keys[i] = positionKey(e.run.id)
	}
	p.reads <- struct{}{}
	docs, err := store.GetAll(p.reading, p.s.conf.Positions, keys)
	<-p.reads
	for i, e := range some {
		if err != nil || !p.enterWith(e, docs[i]) {
			p.enterAlone(e.ctx, e.run)
		}
	}
}

// enterWith puts a run on the wheel if its document says all.
func (p *pacer) enterWith(e entry, doc store.Doc) bool {
	var saved storedPosition
	if doc.Version != "" {
		var err error
		if saved, err = decodePosition(doc); err != nil {
			return false
		}
	}
	at, ok := e.run.lastRound(saved)
	if !ok || e.run.saw(doc.Version, saved, e.run.token) != nil {
		return false
	}
	p.add(e.ctx, e.run, lastRound{at: at, since: e.run.acceptedAt()})
	return true
}
