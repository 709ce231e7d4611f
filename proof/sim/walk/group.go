package walk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// inquiry is a member's call to the group, which may let it wait for others.
type inquiry struct {
	effect machine.Effect
	number uint64
	sent   protocol.Instant
	answer *memory.GroupAnswer // nil while it waits
}

// seat is a membership in the group, and the process that asked for it.
type seat struct {
	life
	id string
}

// ask makes a call of member i to the group.
func (s *State) ask(i int, e machine.Effect) {
	m := s.own(i)
	s.asks++
	c := s.request(i, e, s.asks)
	m.inquiry = &inquiry{effect: e, number: s.asks, sent: m.clock}
	s.feed(c)
	if c.Join == nil || c.Join.ID != "" {
		return
	}
	id := s.room.Waiting(s.asks)
	if q := s.members[i].inquiry; q.answer != nil {
		id = q.answer.Membership.ID
	}
	s.seats = append(slices.Clip(s.seats), seat{s.life(i), id})
}

// request is what a call of member i asks of the group.
func (s *State) request(i int, e machine.Effect, number uint64) memory.GroupCall {
	h := s.handle(s.life(i), model.Fine)
	s.make(h, s.params(s.life(i)), e)
	h.request.Call = number
	return h.request
}

// feed lets the group take in a request, and notes its answers.
func (s *State) feed(c memory.GroupCall) {
	var answers []memory.GroupAnswer
	s.room, answers = s.room.Step(0, c)
	for _, a := range answers {
		for i, m := range s.members {
			if m.up && m.inquiry != nil && m.inquiry.number == a.Call {
				q := *m.inquiry
				q.answer = &a
				s.own(i).inquiry = &q
			}
		}
	}
}

// answered tells whether the group has answered a member that can hear it.
func (m *member) answered() bool {
	return m.up && m.awake() && m.inquiry != nil && m.inquiry.answer != nil
}

// mostRounds is more than members ask the group before time passes.
const mostRounds = 100

// heed delivers the answers that come at once, and forgets memberships that are over.
func (s *State) heed() {
	rounds := 0
	for again := true; again && s.broken == ""; rounds++ {
		if again = false; rounds > mostRounds {
			s.broken = "the group is asked again and again, and no time passes"
			return
		}
		for i, m := range s.members {
			if m.answered() && s.way(m.inquiry.effect) == Unseen {
				s.hearGroup(i)
				again = true
			}
		}
	}
	s.seats = slices.DeleteFunc(slices.Clone(s.seats), func(t seat) bool { return !s.seated(t.id) })
}

// seated tells whether a member is in the group, or may be again when its server dies.
func (s *State) seated(id string) bool {
	if has(s.room, id) || s.used[Failures] >= s.bounds.Faults[Failures] {
		return has(s.room, id)
	}
	fact, _ := s.room.Step(0, memory.GroupCall{Fail: true})
	return has(fact, id)
}

// has asks a group for a member, whatever its generation.
func has(g memory.Group, id string) bool {
	_, answers := g.Step(0, memory.GroupCall{Call: 1, Beat: &store.Seat{ID: id}})
	return !errors.Is(answers[0].Err, store.ErrSession)
}

// hearGroup delivers the answer of the group to member i.
func (s *State) hearGroup(i int) {
	q := s.members[i].inquiry
	s.own(i).inquiry = nil
	s.step(i, s.reply(i, q))
}

// reply is the event that an answer of the group makes.
func (s *State) reply(i int, q *inquiry) machine.Event {
	p := s.params(s.life(i))
	p.Now = func() protocol.Instant { return q.sent }
	return s.make(s.handle(s.life(i), model.Fine, model.Answer{Group: *q.answer, Err: q.answer.Err}), p, q.effect)
}

// beat is the answer to the heartbeat that member i would send now, nil if it sends none.
func (s *State) beat(i int) machine.Event {
	m := s.members[i]
	if s.rules.Beat == nil || !m.up || !m.awake() || m.inquiry != nil {
		return nil
	}
	e := s.rules.Beat(m.state)
	if e == nil {
		return nil
	}
	_, answers := s.room.Step(0, s.request(i, e, 1))
	return s.reply(i, &inquiry{effect: e, sent: m.clock, answer: &answers[0]})
}

// group are the moves of the group and its members.
func (w *moves) group() {
	if !w.s.rules.Machine.Group {
		return
	}
	for i, m := range w.s.members {
		switch ev := w.s.beat(i); {
		case m.answered():
			w.add(fmt.Sprintf("%s hears the group: %s", name(i), machine.Short(m.inquiry.effect)),
				func(s *State) { s.hearGroup(i) })
		case ev != nil:
			w.add(fmt.Sprintf("%s has a heartbeat: %s", name(i), machine.Short(ev)), func(s *State) { s.step(i, ev) })
		}
	}
	for _, t := range w.s.seats {
		w.silent(t)
	}
	w.fault(Failures, "the server of the group dies", func(s *State) { s.feed(memory.GroupCall{Fail: true}) })
	forgotten, _ := w.s.room.Step(0, memory.GroupCall{Forget: true})
	if forgotten.String() != w.s.room.String() {
		w.fault(Forgets, "the group, which nobody is in, is forgotten", func(s *State) { s.room = forgotten })
	}
}

// silent: the group has not heard of a member for its session: it is dead, or it was away.
func (w *moves) silent(t seat) {
	remove := func(s *State) { s.feed(memory.GroupCall{Leave: t.id}) }
	if !w.s.live(t.life) {
		w.add(fmt.Sprintf("the group removes %s, which is dead", t.id), remove)
	} else if m := w.s.members[t.member]; m.awake() && m.inquiry == nil {
		w.fault(Suspicions, fmt.Sprintf("%s is away for longer than the TTL, and the group removes %s", name(t.member),
			t.id), func(s *State) {
			remove(s)
			s.sleep(t.member)
		})
	}
}

// appendGroup appends what the group is, and who is in it.
func (s *State) appendGroup(b []byte, n *Names) []byte {
	if !s.rules.Machine.Group {
		return b
	}
	return n.Any(b, s.room.String(), s.seats)
}

// appendInquiry appends what a member waits for. When it was sent matters as far as the rules say.
func (s *State) appendInquiry(b []byte, m *member, n *Names) []byte {
	q := m.inquiry
	if q == nil {
		return append(b, 0)
	}
	b = s.rules.Effect(append(b, 1, flag(q.answer != nil), flag(s.rules.Before(m.state, q.sent))), q.effect, n)
	if q.answer != nil && q.answer.Err != nil {
		b = append(b, q.answer.Err.Error()...)
	}
	return append(b, 0)
}
