package walk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"slices"

	"github.com/rota-run/rota/internal/node/guarding"
	kernel "github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// step lets member i take an event in, and does at once what nobody else can observe.
func (s *State) step(i int, ev machine.Event) {
	m := s.own(i)
	if s.rules.Machine.Group { // what was before the answer of a call, and what after it was sent
		m.clock++
	}
	ev = machine.Stamped(ev, m.clock)
	m.state = machine.Copy(m.state)
	fx := s.rules.Machine.Step(m.state, ev)
	s.say(i, ev, fx)
	for _, e := range fx {
		s.effect(i, e)
	}
	s.settle(i)
}

// say takes a step into the digest of the move: all that its event and its effects say.
func (s *State) say(i int, ev machine.Event, fx []machine.Effect) {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 512), s.heard)
	b = append(append(append(b, byte(i)), s.rules.Machine.Phase(s.members[i].state)...), ' ')
	b = machine.AppendText(b, ev)
	for _, e := range fx {
		b = machine.AppendText(append(b, ", "...), e)
	}
	sum := sha256.Sum256(b)
	s.heard = binary.BigEndian.Uint64(sum[:])
}

func (s *State) effect(i int, e machine.Effect) {
	m := s.own(i)
	if c, ok := s.rules.Machine.Call(e); ok {
		switch way := s.way(e); {
		case c.Group:
			s.ask(i, e)
		case way == Unseen:
			s.step(i, s.call(s.life(i), e, model.Fine))
		case way != Ignored:
			m.calls = append(slices.Clip(m.calls), e)
		}
		return
	}
	switch e := e.(type) {
	case kernel.Assign:
		m.work = e.Assignment
		s.step(i, kernel.Reported{Version: m.work.Version, Reports: m.reports()})
	case kernel.Left:
		m.gone = true
		s.guardians = slices.DeleteFunc(slices.Clone(s.guardians),
			func(g guardian) bool { return g.life == s.life(i) && !g.alone }) // they are dismissed
		s.stop(i)
	case kernel.Halt:
		s.broken = "nobody halts: " + e.Err.Error()
	}
}

// reports are what the supervisor tells: it runs what it was told to run, and nothing fails.
func (m *member) reports() []protocol.Report {
	if m.work.ValidUntil == 0 {
		return nil
	}
	out := make([]protocol.Report, len(m.work.Grants))
	for i, g := range m.work.Grants {
		out[i] = protocol.Report{Partition: g.Partition, Token: g.Token}
	}
	return out
}

// settle delivers the answers that a member can't get too late.
func (s *State) settle(i int) {
	for k := 0; k < len(s.members[i].calls); k++ {
		m := s.members[i]
		e := m.calls[k]
		if m.awake() && s.way(e) == Quiet && s.prompt(m, e) && s.deliver(i, k) {
			return // that has settled the rest
		}
	}
}

// prompt tells whether a call is answered at once.
func (s *State) prompt(m *member, e machine.Effect) bool {
	exists := func(key string) bool { _, ok := s.docs.Find(key); return ok }
	return s.rules.Prompt == nil || s.rules.Prompt(exists, m.state, e)
}

// deliver makes the call number k of member i, unless its answer tells nothing new: then it stays under way.
func (s *State) deliver(i, k int) bool {
	m := s.own(i)
	e, before, calls := m.calls[k], m.state, m.calls
	next := s
	if s.way(e) != Quiet { // it writes
		next = s.clone()
	}
	ev := machine.Stamped(next.call(s.life(i), e, model.Fine), m.clock)
	after := machine.Copy(before)
	fx := s.rules.Machine.Step(after, ev)
	plain := &Names{skip: s.rules.Skip}
	if len(fx) == 1 && reflect.TypeOf(fx[0]) == reflect.TypeOf(e) &&
		bytes.Equal(s.rules.Effect(nil, fx[0], plain), s.rules.Effect(nil, e, plain)) &&
		bytes.Equal(s.rules.Key(nil, before, plain), s.rules.Key(nil, after, plain)) {
		return false
	}
	s.docs, s.log, s.broken, s.changed, s.guardians = next.docs, next.log, next.broken, next.changed, next.guardians
	m.state, m.calls = after, slices.Delete(slices.Clone(calls), k, k+1)
	s.say(i, ev, fx)
	for _, e := range fx {
		s.effect(i, e)
	}
	s.settle(i)
	return true
}

// read delivers the next entry, or all that is new where members are prompt.
func (s *State) read(i int) {
	m := s.own(i)
	next := s.after(m.index())
	if !s.bounds.Prompt {
		next = next[:1]
	}
	s.step(i, s.rules.Read(m.state, page(next, s)))
}

func page(rs []*record, s *State) store.Page {
	p := store.Page{Records: make([]store.Record, len(rs)), Head: uint64(s.head().Index())}
	for i, r := range rs {
		p.Records[i] = r.Record
		p.Head = r.Index
	}
	return p
}

// begin starts a process in place i: it loads the newest value, and does what nobody can observe.
func (s *State) begin(i int) {
	m := s.own(i)
	m.up, m.starts, m.clock = true, m.starts+1, 1
	s.guard(i, guarding.Book[string]{})
	m.state = s.rules.Machine.Start(s.params(s.life(i)))
	s.step(i, kernel.Woken{})
	if s.rules.Read == nil {
		return
	}
	if ev := s.rules.Read(m.state, store.Page{Head: uint64(s.head().Index())}); ev != nil {
		s.step(i, ev)
	}
}

// stop ends process i. What it was about to write may still be done.
func (s *State) stop(i int) {
	m := s.own(i)
	for _, e := range m.calls {
		if s.way(e) == Risky {
			s.orphans = append(slices.Clip(s.orphans), orphan{s.life(i), e})
		}
	}
	*m = member{starts: m.starts, gone: m.gone}
}

// note notes that a document, or, for "", the log has changed.
func (s *State) note(key string) {
	if s.truth != nil {
		after := s.assess(*s.truth, func() []store.Doc { return s.docs.List("") }, key).After
		s.truth = &after
	}
	if s.rules.Settled {
		s.changed = append(slices.Clip(s.changed), key)
	}
}

// tell tells the members of what has changed: at once all of them where they are prompt, else those that write nothing.
func (s *State) tell() {
	for again := true; again && s.broken == ""; {
		s.distribute()
		again = false
		for i, m := range s.members {
			if m.up && m.awake() && len(m.hints) > 0 && (s.bounds.Prompt || !s.writing(m)) {
				s.hear(i)
				again = true
			}
		}
		again = again || len(s.changed) > 0
	}
}

// distribute gives each member the hints of what it watches.
func (s *State) distribute() {
	keys := s.changed
	s.changed = nil
	for i, m := range s.members {
		if !m.up {
			continue
		}
		for _, key := range keys {
			for _, prefix := range s.rules.Machine.Told(m.state, key) {
				m := s.own(i)
				if at, ok := slices.BinarySearch(m.hints, prefix); !ok {
					m.hints = slices.Insert(slices.Clone(m.hints), at, prefix)
				}
			}
		}
	}
}

// hear delivers the hints of a member.
func (s *State) hear(i int) {
	m := s.own(i)
	hints := m.hints
	m.hints = nil
	for _, p := range hints {
		s.step(i, kernel.Hinted{Prefix: p})
	}
}

// quiesce does everything that is asked for, until nobody asks for anything.
func (s *State) quiesce() {
	for again := true; again && s.broken == ""; {
		s.tell()
		again = false
		for i, m := range s.members {
			again = m.up && s.doOne(i) || again
		}
	}
	s.trim()
}

// doOne does the first call of a member that does something.
func (s *State) doOne(i int) bool {
	for k, e := range s.members[i].calls {
		if s.way(e) == Risky {
			s.write(i, k, model.Fine)
			return true
		}
		if s.deliver(i, k) {
			return true
		}
	}
	if len(s.members[i].hints) > 0 {
		s.hear(i)
		return true
	}
	return false
}
