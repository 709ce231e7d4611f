package replica

import (
	"math"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// watch reads the heartbeat that this member is responsible for, and those of suspects.
func (s *step) watch() {
	want := s.watchKey()
	if want != s.watching {
		s.watching = want
		s.check.next = s.At
	}
	if s.check.busy || s.At < s.check.rest {
		return
	}
	if key := s.nextSuspect(); key != "" {
		s.look(key)
		return
	}
	if want != "" && s.At >= s.check.next {
		s.look(want)
	}
}

func (s *step) look(key string) {
	s.check.busy, s.checkSent = true, s.At
	if key == s.watching {
		s.check.next = never // the answer tells; a hint comes first
	}
	s.Emit(CheckHeartbeat{Key: key, Routine: key == s.watching && s.routine()})
}

// never is after all that happens.
const never = protocol.Instant(math.MaxInt64)

// routine reports whether the watched heartbeat cannot have been silent for long enough yet.
func (s *step) routine() bool {
	o := s.heartbeats.Of(s.watching)
	return o.Known && !o.Gone() && s.At < o.Since.Add(s.Silence(o))
}

// polled reports whether the store tells of nothing that members of this protocol look at.
func (s *step) polled() bool { return !s.Hints.Log && !s.Hints.Ends }

// nextLook is when the watched heartbeat is read again, unless a hint comes first.
func (s *step) nextLook() protocol.Instant {
	o := s.heartbeats.Of(s.watching)
	if s.polled() {
		return o.Polled(s.Timing, s.Poll)
	}
	next := o.Next(s.Timing, s.Poll)
	if !s.Hints.Ends {
		next = min(next, s.At.Add(s.Poll))
	}
	return next
}

func (s *step) watchKey() string {
	switch s.Is {
	case member.PhaseNaming:
		return s.claim.Key
	case member.PhaseMember, member.PhaseConfirming:
		return s.Work.Asks(&s.Core, s.Log.Value).Watch.Heartbeat
	}
	return ""
}

func (s *step) heartbeatSeen(ev HeartbeatSeen) {
	s.check.busy = false
	if s.Answered(ev.Err); ev.Err != "" {
		s.check.rest = s.At.Add(s.Poll)
		s.check.next = min(s.check.next, s.check.rest)
		return
	}
	if ev.Key == s.claim.Key && s.Is == member.PhaseNaming {
		was := s.claim
		s.claim = was.Read(ev.Version, ev.TTL, s.checkSent, s.At)
		if was.Known && !was.Gone() && ev.Version != "" && ev.Version != was.Version {
			s.Halt(s.Log.Value.Index(), &protocol.NameTakenError{Member: s.Member})
		}
	}
	s.heartbeats = s.heartbeats.With(s.heartbeats.Of(ev.Key).Read(ev.Version, ev.TTL, s.checkSent, s.At))
	if ev.Key == s.watching {
		s.check.next = min(s.check.next, s.nextLook())
	}
}

// sweepHeartbeats compares all members with all heartbeats from time to time: that finds those whose watcher died with
// them.
func (s *step) sweepHeartbeats() {
	if s.Is != member.PhaseMember || s.sweep.busy || s.At < s.sweep.next {
		return
	}
	s.sweep.busy = true
	s.sweep.next = s.At.Add(s.sweepEvery())
	s.Emit(ListHeartbeats{})
}

// sweepEvery is how often. Where heartbeats vanish, the predecessor in the ring detects a death at once, and sweeps
// only find what should not happen: then all members together sweep as often as otherwise each of them.
func (s *step) sweepEvery() time.Duration {
	every := s.Params.TTL / 2
	if !s.Hints.Vanish {
		return every
	}
	var all time.Duration
	for range s.Log.Value.Members() {
		all += every
	}
	return max(all, every)
}

func (s *step) heartbeatsListed(ev HeartbeatsListed) {
	s.sweep.busy = false
	if s.Answered(ev.Err); ev.Err != "" {
		return
	}
	s.heartbeats = s.Listed(s.heartbeats, ev.Heartbeats, s.Log.Value, s.Hints.Vanish)
	if s.First() {
		for _, o := range s.Strays(s.heartbeats, s.Log.Value) {
			s.Emit(DropHeartbeat{Key: o.Key, Version: o.Version})
		}
	}
}

// nextSuspect is a heartbeat, other than the watched one, that seems missing or silent and that no decisive read has
// confirmed yet.
func (s *step) nextSuspect() string {
	if s.Is != member.PhaseMember {
		return ""
	}
	for _, o := range s.heartbeats {
		until := s.At
		if s.Hints.Vanish {
			until = o.Seen // what was not looked at is not known to be silent
		}
		recent := o.Known && s.At.Sub(o.Looked) < s.Poll
		if recent || o.Key == s.watching || !o.Suspect(until, s.Silence(o)) {
			continue
		}
		if _, ok := s.other(o.Key); ok {
			return o.Key
		}
	}
	return ""
}

// other is the member, not this one, that a heartbeat belongs to.
func (s *step) other(heartbeat string) (cluster.Member, bool) {
	id, _, _ := strings.Cut(strings.TrimPrefix(heartbeat, protocol.HeartbeatPrefix), "/")
	m, ok := s.Log.Value.Member(cluster.MemberID(id))
	if !ok || m.Heartbeat != heartbeat { // members do not choose such a key: no member has written the entry of its owner
		for m = range s.Log.Value.Members() {
			if ok = m.Heartbeat == heartbeat; ok {
				break
			}
		}
	}
	return m, ok && m.State != cluster.MemberHeld && m.ID != s.Member
}

// deaths are the commands that report members whose heartbeat is gone or silent. The predecessor in the ring reports at
// once; the others wait by their rank, so that one report is written and not n.
func (s *step) deaths() []cluster.Command {
	var out []cluster.Command
	for _, o := range s.heartbeats {
		if !s.Dead(o) {
			continue
		}
		m, ok := s.other(o.Key)
		if !ok || s.At.Sub(o.Since) < s.patience(m.ID, o) {
			continue
		}
		if m.State == cluster.MemberPrepared {
			out = append(out, cluster.AbortJoin{Member: m.ID, Incarnation: m.Incarnation})
			continue
		}
		// A silent one may be alive, behind a busy store: what it runs is not what ended it.
		out = append(out, cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.Reason(o),
			Died: o.Gone()})
	}
	return out
}

func (s *step) patience(m cluster.MemberID, o heartbeat.Observation) time.Duration {
	d := time.Duration(min(s.Log.Value.Rank(s.Member, m), 8)) * 2 * s.Poll
	if !o.Gone() {
		d += s.Silence(o)
	}
	return d
}
