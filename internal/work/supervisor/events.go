package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// Events are optional callbacks for metrics and witnesses. They are called from any goroutine and must return quickly.
type Events struct {
	Started   func(RunStarted)
	Stopped   func(RunStopped)
	RoundDone func(RoundDone)
	Frozen    func(Frozen)
}

// RunStarted reports that a run begins; it is called before the Runner is.
type RunStarted struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	Type      string
	At        protocol.Instant
	Grant     *protocol.Grant // under which it runs, with the former owner: a value that a member has may be older
	// First is false if a run under this token was started before: a restart after a failure, a change, or an expired
	// lease. A move is journaled at the first run.
	First bool
}

// RunStopped reports that a run has ended; it is called after the Runner has returned.
type RunStopped struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	Type      string
	At        protocol.Instant
	Until     protocol.Instant // when it ran for the last time: At, or before it where the process was suspended in between
	RanFor    time.Duration
	Outcome   Outcome
	Cause     error  // stopped: why; one of the Cause errors
	Message   string // failed: why
}

// RoundDone reports the end of a round of a periodic partition.
type RoundDone struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	Type      string
	Lateness  time.Duration // from the due time to the actual start
	Took      time.Duration
	Err       error // nil if it succeeded or was stopped
}

func (e Events) started(r RunStarted) {
	if e.Started != nil {
		e.Started(r)
	}
}

func (e Events) stopped(r RunStopped) {
	if e.Stopped != nil {
		e.Stopped(r)
	}
}

// Frozen reports that the process was suspended, or had no processor, within its lease: nothing ran here between two
// instants. It precedes the events that follow from that.
type Frozen struct{ From, To protocol.Instant }

func (e Events) frozen(f Frozen) {
	if e.Frozen != nil {
		e.Frozen(f)
	}
}

func (e Events) roundDone(r RoundDone) {
	if e.RoundDone != nil {
		e.RoundDone(r)
	}
}

// do does one effect. It decides nothing.
func (s *Supervisor) do(ctx context.Context, fx Effect) {
	switch fx := fx.(type) {
	case Start:
		s.doStart(ctx, fx)
	case Stop:
		s.doStop(fx)
	case Abandon:
		s.mu.Lock()
		s.abandoned = append(s.abandoned, fx.Partition)
		s.mu.Unlock()
		s.log.Error("abandoned a run that ignores cancellation", "partition", fx.Partition, "token", fx.Token)
	case Report:
		s.conf.Report(fx.Version, fx.Reports)
	case Journal:
		s.journal(fx.Record)
	case WakeAt:
		s.mu.Lock()
		s.wakeAt = fx.At
		s.mu.Unlock()
	case Ended:
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
	}
}

func (s *Supervisor) doStart(ctx context.Context, fx Start) {
	r := s.newRun(fx)
	s.mu.Lock()
	s.live[fx.Grant.Partition] = r
	s.mu.Unlock()
	s.conf.Events.started(RunStarted{Partition: r.id, Token: r.token, Type: r.typ.Name, At: r.startedAt,
		Grant: fx.Grant, First: fx.First})
	err := r.prepare()
	switch {
	case err != nil:
		r.exit(Failed, err.Error())
	case r.typ.Periodic:
		s.pacer.enter(ctx, r)
	default:
		s.runs.Add(1)
		r.goOn(ctx)
	}
}

func (s *Supervisor) doStop(fx Stop) {
	s.mu.Lock()
	r := s.live[fx.Partition]
	s.mu.Unlock()
	if r == nil || r.token != fx.Token { // it has ended, and its exit is on the way
		return
	}
	r.stop(s.cause(fx))
}

// cause is the cause with which the ctx of a stopped run ends.
func (s *Supervisor) cause(fx Stop) error {
	switch fx.Cause {
	case StopUnassigned:
		return s.conf.Removed(fx.Partition)
	case StopChanged:
		return work.CauseKilled
	case StopLease:
		return work.CauseLeaseLost
	case StopShutdown:
		return work.CauseShutdown
	}
	return work.CauseMoved
}

func (s *Supervisor) journal(r journal.Record) {
	r.AtMS = s.conf.Wall().UnixMilli()
	r.Member = string(s.conf.Member)
	s.conf.Journal(r)
}

// forget takes a run that has ended out of the live ones.
func (s *Supervisor) forget(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[r.id] == r {
		delete(s.live, r.id)
	}
}

// describe is how a partition is named in errors.
func describe(p cluster.PartitionID, t cluster.Token) string {
	return fmt.Sprintf("%s (token %d)", p, t)
}
