package work

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

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
	s.conf.Events.started(RunStarted{Partition: r.id, Token: r.token, Type: r.typ.Name, At: r.startedAt, Grant: fx.Grant, First: fx.First})
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
		return CauseKilled
	case StopLease:
		return CauseLeaseLost
	case StopShutdown:
		return CauseShutdown
	}
	return CauseMoved
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
