package leader

import (
	"time"

	"github.com/rota-run/rota/protocol"
)

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
