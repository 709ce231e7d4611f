package supervisor

import (
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// phase is the state of a partition on this member.
type phase uint8

const (
	phaseIdle     phase = iota // wanted, not started: no lease, or shutting down
	phaseBackoff               // wanted, waits after a failure
	phaseQueued                // wanted, waits for room in its type
	phaseRunning               //
	phaseStopping              // ctx ended, has not returned
	phaseFinished              // returned nil under token; waits until the value knows
	phaseFailed                // failed under token and attempt; waits until the value knows
	phaseGone                  // dropped
)

// String is the word that Status shows.
func (p phase) String() string {
	return [...]string{"waiting", "backing off", "queued", "running", "stopping", "finished", "failed", "gone"}[p]
}

// part is one partition: what is wanted, and what is.
type part struct {
	id     cluster.PartitionID
	grant  *protocol.Grant  // nil: not assigned
	def    *work.Definition // of the grant; nil when bad
	bad    string           // why the definition cannot run
	phase  phase
	waited bool // the back-off of the grant's attempt is over
	told   bool // report is among those told

	// Of the run, or of the last one.
	keep    bool
	ignored bool // it was journaled that it ignores cancel
	left    bool // abandoned
	fresh   bool
	token   cluster.Token
	attempt int64
	spec    *cluster.TaskSpec
	typ     *typeState
	endedAt protocol.Instant
	message string
	row     int64 // failures in a row here, under whatever tokens; see resting

	began  cluster.Token // a run under this token was started
	queued uint64        // sequence of its valid place in a queue
	timer  uint64        // sequence of its valid timer; 0 none
	report protocol.Report
}

// reconcile moves a partition towards what is wanted.
func (s *State) reconcile(p *part) {
	switch p.phase {
	case phaseRunning:
		if cause, stop := s.mustStop(p); stop {
			s.stop(p, cause)
		}
	case phaseFinished:
		if p.grant != nil && p.grant.Token != p.token {
			p.phase, p.waited = phaseIdle, false
		}
	case phaseFailed:
		if p.grant != nil && (p.grant.Token != p.token || p.grant.Attempt != p.attempt) {
			p.phase, p.waited = phaseIdle, false
		}
	}
	switch p.phase {
	case phaseIdle, phaseBackoff, phaseQueued, phaseFinished, phaseFailed:
		if p.grant == nil {
			s.drop(p)
		}
	}
	if p.phase == phaseIdle {
		s.begin(p)
	}
	s.note(p)
}

func (s *State) mustStop(p *part) (StopCause, bool) {
	switch {
	case p.grant == nil:
		return StopUnassigned, true
	case s.shutdown:
		return StopShutdown, true
	case p.grant.Token != p.token:
		return StopToken, true
	case !sameWork(p.grant.Spec, p.spec):
		return StopChanged, true
	case !s.valid && !p.keep:
		return StopLease, true
	}
	return 0, false
}

// begin starts an idle partition, or says what it waits for.
func (s *State) begin(p *part) {
	switch {
	case s.shutdown:
	case p.grant.Attempt > 0 && !p.waited:
		s.backOff(p, p.grant.Attempt)
	case p.resting() && !p.waited:
		s.backOff(p, p.row)
	case !s.valid:
	case p.bad != "":
		s.fail(p, p.bad)
	case s.types[p.grant.Spec.Type].max > 0:
		s.enqueue(p)
		s.pump(s.types[p.grant.Spec.Type])
	default:
		s.start(p)
	}
}

// resting reports whether a partition has failed here that counts no failures: one that moves here without a gap, whose
// owner goes on meanwhile. It comes back under another token at once, and would without end.
func (p *part) resting() bool { return p.grant.Attempt == 0 && p.row > 0 }

// backOff waits from the failure, if it was here, else from now.
func (s *State) backOff(p *part, failures int64) {
	var r work.Retry
	if p.def != nil {
		r = p.def.Retry
	}
	from := s.now
	if p.endedAt > 0 && (p.token == p.grant.Token || p.resting()) {
		from = p.endedAt
	}
	p.phase = phaseBackoff
	s.setTimer(p, from.Add(backOff(r, failures, jitter(p.id, failures, s.conf.Seed))).Sub(s.now))
}

func (s *State) start(p *part) {
	g := p.grant
	p.phase, p.token, p.attempt, p.spec = phaseRunning, g.Token, g.Attempt, g.Spec
	p.keep = p.def.OnStoreLoss == work.StoreLossKeep
	p.ignored, p.left, p.message, p.fresh = false, false, "", false
	p.typ = s.types[g.Spec.Type]
	p.typ.running++
	s.active++
	s.do(Start{Grant: g, Definition: p.def, First: p.began != g.Token})
	p.began = g.Token
}

func (s *State) stop(p *part, cause StopCause) {
	p.phase = phaseStopping
	s.setTimer(p, s.conf.Grace)
	s.do(Stop{Partition: p.id, Token: p.token, Cause: cause})
}

// ignoresCancel is called when a stopped run has used up its grace.
func (s *State) ignoresCancel(p *part) {
	if !p.ignored {
		p.ignored = true
		s.journal(journal.Record{Kind: journal.RunError, Partition: string(p.id), Token: uint64(p.token),
			Message: fmt.Sprintf("ignores cancel: still running %v after its context ended; it counts as running until it returns", s.conf.Grace)})
	}
	if s.shutdown && !p.left {
		p.left = true
		s.active--
		s.do(Abandon{Partition: p.id, Token: p.token})
	}
}

// exited handles the end of a run.
func (s *State) exited(e Exited) {
	p := s.part(e.Partition)
	if p == nil || p.token != e.Token || p.phase != phaseRunning && p.phase != phaseStopping {
		return
	}
	if !p.left {
		s.active--
	}
	left := p.typ // what follows may start it again, as another type
	left.running--
	p.timer = 0
	p.endedAt = s.now
	// A result counts only under the grant that the run had; otherwise the result is dropped and the partition is done
	// again.
	counts := p.grant != nil && p.grant.Token == p.token
	switch {
	case counts && e.Outcome == Finished:
		p.phase = phaseFinished
	case counts && e.Outcome == Failed:
		s.failed(p, e.Message, e.RanFor)
	default:
		p.phase, p.waited = phaseIdle, p.grant != nil && p.grant.Token == p.token && p.grant.Attempt == p.attempt
	}
	s.reconcile(p)
	s.pump(left)
}

// maxMessage is the longest message of a failure. The value refuses a longer one, so the failure would not count, and
// the partition would never run again.
const maxMessage = cluster.MaxText - len("…")

// failed notes the failure of a run. Older failures are forgiven after a run longer than the longest back-off. A count
// of one is left to grow: with Fresh it would stay one, and nobody could tell whether the failure was counted.
func (s *State) failed(p *part, message string, ranFor time.Duration) {
	message = safetext.Cut(message, maxMessage)
	p.phase, p.message = phaseFailed, message
	if p.row++; p.def != nil && ranFor >= retryMax(p.def.Retry) {
		p.row = 1
	}
	p.fresh = p.attempt > 1 && p.def != nil && ranFor >= retryMax(p.def.Retry)
	s.journal(journal.Record{Kind: journal.RunError, Partition: string(p.id), Token: uint64(p.token), Message: message})
}

// fail is the failure of a partition that could not even be started.
func (s *State) fail(p *part, message string) {
	p.token, p.attempt, p.endedAt = p.grant.Token, p.grant.Attempt, s.now
	s.failed(p, message, 0)
}

func (s *State) drop(p *part) {
	p.phase, p.timer = phaseGone, 0
	s.dropped = true
}

// note finds out whether what is to be told of the partition changed.
func (s *State) note(p *part) {
	r, told := p.tell()
	if told == p.told && r == p.report {
		return
	}
	p.report, p.told, s.dirty = r, told, true
}

// tell returns the report of the partition. Idle, queued and resting partitions are not running here, so they are not
// reported: otherwise a no-gap hand-over would consider them started.
func (p *part) tell() (protocol.Report, bool) {
	r := protocol.Report{Partition: p.id, Token: p.token}
	switch p.phase {
	case phaseBackoff:
		if p.resting() {
			return protocol.Report{}, false
		}
		r.Token = p.grant.Token
	case phaseRunning, phaseStopping:
	case phaseFinished:
		r.State, r.Attempt = protocol.RunFinished, p.attempt
	case phaseFailed:
		r.State, r.Attempt, r.Fresh, r.Message = protocol.RunFailed, p.attempt, p.fresh, p.message
	default:
		return protocol.Report{}, false
	}
	return r, true
}
