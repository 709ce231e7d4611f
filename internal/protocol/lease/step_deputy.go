package lease

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
)

// mostWatched is how many members a cluster has at most in which a deputy watches all: it reads each heartbeat about as
// often as that is renewed.
const mostWatched = 32

// deputy tells whether we are the one that follows the leader. It watches all heartbeats as the leader does, and leads
// when the leader is late, before its session has ended: else those that die meanwhile wait for that end, and some of
// them for as long again, which begins when somebody new looks at them.
func (s *step) deputy() bool {
	return !s.lead.holds && s.look.leader.Holder != "" && len(s.look.members) <= mostWatched && s.rank() == 0
}

// watches tells whether we look at all heartbeats one by one. A leader to whom the store hints at them sees them in its
// surveys.
func (s *step) watches() bool { return s.lead.holds && !s.Hints.Docs || s.deputy() }

// lateMembers are those that have missed a renewal. What is free is not for them first.
func (s *step) lateMembers() (late []cluster.MemberID) {
	for _, m := range s.look.members {
		if s.follows(m) && s.late(s.lead.beats.Of(m.Heartbeat)) {
			late = append(late, m.ID)
		}
	}
	return late
}

// late tells whether the owner of a heartbeat has missed a renewal although the store takes them.
func (s *step) late(o heartbeat.Observation) bool {
	return o.Known && !o.Gone() && o.Looked.Sub(o.Since) >= s.Timing.Of(o.TTL).Late() && s.takes()
}

// takes tells whether the store takes renewals, as far as ours tell. Where it took none for a while, others have four
// polls to try again.
func (s *step) takes() bool {
	return s.overdue(s.At) <= 0 && (s.look.took == 0 || s.At >= s.look.took.Add(4*s.Poll))
}

// noteRenewals notes when the store has taken a renewal of ours again.
func (s *step) noteRenewals() {
	if s.Own.Acked != s.look.acked {
		if s.overdue(s.Own.Acked) > 0 {
			s.look.took = s.At
		}
		s.look.acked = s.Own.Acked
	}
}

// overdue is for how long a renewal that is sent at an instant has been due, and half as long again.
func (s *step) overdue(at protocol.Instant) time.Duration {
	return at.Sub(s.look.acked.Add(s.Timing.Of(s.Own.TTL).Every() * 3 / 2))
}

// lateAt is when a deputy must look at the leader's heartbeat to find it late; a TTL from now where nobody must.
func (s *step) lateAt() protocol.Instant {
	o := s.look.election.Holder
	if late := o.Since.Add(s.Timing.Of(o.TTL).Late()); s.deputy() && o.Known && !o.Gone() && o.Looked < late {
		return late
	}
	return s.At.Add(s.Params.TTL)
}
