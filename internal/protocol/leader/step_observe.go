package leader

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// observe watches the heartbeats of the members. Where they do not vanish by themselves, stand-bys begin to do so when
// the leader's renewal is late: who follows it need not begin to count then.
func (s *step) observe() {
	rules, o := s.rule.at == ruleRuling, s.vote.Election.Holder
	late := o.Known && o.Looked.Sub(o.Since) > s.Timing.Of(o.TTL).Every()+s.Poll
	if !s.Whole() || s.Is == member.PhaseRemoved || !rules && (s.Hints.Vanish || !late) {
		return
	}
	if s.At >= s.nextSweep() && s.list(protocol.HeartbeatPrefix) {
		s.swept = s.At
	}
	for m := range s.fold.Value.Members() {
		o, until := s.heartbeats.Of(m.Heartbeat), s.At
		if s.Hints.Vanish {
			until = o.Seen // lists are rare: what was not looked at is not known to be silent
		}
		switch {
		case m.State == cluster.MemberHeld || !o.Suspect(until, s.Silence(o)):
		case o.Missing:
			s.probe(m.Heartbeat, s.At.Add(s.Poll))
		default:
			s.lookAt(o)
		}
	}
	if rules {
		s.observeJoiners()
	}
	if rules && s.Hints.Vanish {
		s.patrol()
	}
}

// observeJoiners looks whether those live that ask to join or to be confirmed, and removes the mailboxes of the dead.
func (s *step) observeJoiners() {
	for id, b := range s.rule.boxes.all.Each {
		m, in := s.fold.Value.Member(b.Member)
		o := s.heartbeats.Of(b.Heartbeat)
		if !in && s.Dead(o) {
			if s.drop(mailboxKey(b.Member), b.version) { // nobody reads it any more
				s.rule.boxes.all.remove(id)
			}
			continue
		}
		if in && b.Want != wantJoin && b.Want != wantConfirm {
			continue
		}
		if !s.alive(b.Heartbeat) && !o.Gone() || b.Want == wantJoin && s.Hints.Vanish {
			s.probe(b.Heartbeat, s.At.Add(s.Poll))
		}
		if in && m.Heartbeat != b.Heartbeat && m.State != cluster.MemberHeld {
			s.lookAt(s.heartbeats.Of(m.Heartbeat))
		}
	}
}

// patrol looks at one heartbeat after the other, seldom: for what no hint told of.
func (s *step) patrol() {
	if s.At < s.rule.patrol {
		return
	}
	s.rule.patrol = s.At.Add(max(s.Params.TTL/3, s.Poll))
	next := s.fold.Value.Following(s.rule.patrols)
	if m, ok := s.fold.Value.Member(next); ok && m.State != cluster.MemberHeld && m.Heartbeat != s.Own.Key {
		s.probe(m.Heartbeat, s.At)
	}
	s.rule.patrols = next
}

func (s *step) heartbeatsListed(docs []Doc) {
	list := make([]member.Heartbeat, len(docs))
	for i, d := range docs {
		list[i] = member.Heartbeat{Key: d.Key, Version: d.Version, TTL: d.TTL}
	}
	s.heartbeats = s.Listed(s.heartbeats, list, s.fold.Value, s.Hints.Vanish)
	if s.rule.at == ruleRuling {
		for _, o := range s.Strays(s.heartbeats, s.fold.Value) {
			s.drop(o.Key, o.Version)
		}
	}
}

// keep forgets what is not needed any more: a member that follows no leader lets the whole value go.
func (s *step) keep() {
	if s.Whole() && !s.fold.Busy && !s.fold.Saving && !s.p.Whole && s.rule.at == ruleNone && s.roster.Index > 0 &&
		s.rank() > s.p.StandBys+1 && !s.windows() {
		s.fold, s.heartbeats = folding{Ledger: fold.Ledger{Out: s.fold.Out}}, nil
		s.lighten()
	}
	if n := len(s.roster.Members); len(s.heartbeats) > 2*n+64 && s.rule.at == ruleNone { // a leader counts how long strays have been silent
		s.heartbeats = slices.DeleteFunc(slices.Clone(s.heartbeats), func(o heartbeat.Observation) bool {
			return !slices.ContainsFunc(s.roster.Members, func(p cluster.Member) bool { return p.Heartbeat == o.Key })
		})
	}
}

// look is when something is looked at again.
type look struct {
	hint  bool
	next  protocol.Instant
	often protocol.Instant // until then it is looked at often
}

func (l look) due(now protocol.Instant) bool { return l.hint || now >= l.next }

// Where the store tells of nothing, leader and members look at what the others write once in a poll. An offer takes
// three such steps. So who has written what is to be answered looks for the answer more often for a while.

// oftener is how many looks there are in a poll then, answeredIn in how many polls an answer is expected.
const (
	oftener    = 8
	answeredIn = 4
)

// expect is a look at what may change within some time.
func (s *step) expect(l look, within time.Duration) look {
	if !s.Hints.Docs {
		l.often = max(l.often, s.At.Add(within))
		l.next = min(l.next, s.At.Add(s.Poll/oftener))
	}
	return l
}

// again is the look after the one that is being made.
func (s *step) again(l look, every time.Duration) look {
	if s.At < l.often {
		every = s.Poll / oftener
	}
	return look{next: s.At.Add(every), often: l.often}
}

// apart is when to look at the roster, about at an instant: in the middle between two looks at our head where the store
// tells of nothing. What is offered to us after a death is then found in half a poll, by one or the other.
func (s *step) apart(at protocol.Instant) protocol.Instant {
	between := s.head.next.Add(s.Poll / 2)
	if s.Hints.Docs || s.rule.at == ruleRuling || between <= s.At || between >= at.Add(s.Poll) {
		return at
	}
	return between
}

// ownEvery is how often our head and the roster are read without a hint. A leader writes them itself.
func (s *step) ownEvery() time.Duration {
	if !s.Hints.Docs && s.rule.at == ruleRuling {
		return 4 * s.Poll
	}
	return s.rarely()
}
