package members

import (
	"bytes"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store"
)

// step lets member i take an event in, and does at once what nobody else can observe.
func (s *State) step(i int, ev replica.Event) {
	m := s.own(i)
	var fx []replica.Effect
	m.state, fx = replica.Step(m.state, ev)
	for _, e := range fx {
		s.effect(i, e)
	}
	s.settle(i)
}

func (s *State) effect(i int, e replica.Effect) {
	m := s.own(i)
	switch e := e.(type) {
	case replica.Append:
		m.append = &e.Entry
	case replica.CheckPulse:
		m.check = e.Key
	case replica.ListPulses:
		m.list = s.bounds.Sweeps
	case replica.Renew:
		if e.Life > 0 {
			m.pulse = e.Key // somebody may know this member already, and look
			return
		}
		s.renewed(i, e.Key)
	case replica.Assign:
		m.work = supervisor{version: e.Assignment.Version, trust: e.Assignment.TrustUntil, grants: e.Assignment.Grants}
		s.step(i, replica.Reported{Now: m.clock, Version: m.work.version, Reports: m.reports()})
	case replica.Left:
		m.gone = true
		s.stop(i)
	case replica.Halt:
		s.broken = "nobody halts: " + e.Err.Error()
	}
}

// renewed writes a pulse and answers.
func (s *State) renewed(i int, key string) {
	m := s.own(i)
	m.pulse = ""
	s.renew(key)
	s.step(i, replica.Renewed{Now: m.clock, Sent: m.clock, Key: key})
}

// reports are what the supervisor tells: it runs what it was told to run, and nothing fails.
func (m *member) reports() []protocol.Report {
	if m.work.trust == 0 {
		return nil
	}
	out := make([]protocol.Report, len(m.work.grants))
	for i, g := range m.work.grants {
		out[i] = protocol.Report{Partition: g.Partition, Token: g.Token}
	}
	return out
}

// settle delivers what the member asked for and what it can't be told too late: a look at a pulse that is there, a list without gaps.
func (s *State) settle(i int) {
	m := s.own(i)
	if m.up && m.list && s.complete(m.state.Value()) {
		s.listed(i)
	}
	if m.up && m.check != "" && s.exists(m.check) {
		s.looked(i)
	}
}

// looked delivers the look that is under way, unless it tells nothing new.
func (s *State) looked(i int) bool {
	m := s.own(i)
	seen := replica.PulseSeen{Now: m.clock, Key: m.check}
	if at, ok := s.find(m.check); ok {
		seen.Version = s.docs[at].Version
	}
	before := m.state.AppendKey(nil, plain{})
	after, fx := replica.Step(m.state, seen)
	if onlyLooks(fx, m.check) && bytes.Equal(before, after.AppendKey(nil, plain{})) {
		return false
	}
	m.state, m.check = after, ""
	for _, e := range fx {
		s.effect(i, e)
	}
	s.settle(i)
	return true
}

// onlyLooks tells whether effects are nothing but another look at a pulse.
func onlyLooks(fx []replica.Effect, key string) bool {
	if len(fx) != 1 {
		return false
	}
	look, ok := fx[0].(replica.CheckPulse)
	return ok && look.Key == key
}

// complete tells whether every member of the value has a pulse.
func (s *State) complete(v cluster.Value) bool {
	for m := range v.Members() {
		if m.State != cluster.MemberHeld && !s.exists(m.Pulse) {
			return false
		}
	}
	return true
}

func (s *State) listed(i int) {
	m := s.own(i)
	m.list = false
	ev := replica.PulsesListed{Now: m.clock}
	ev.Pulses = s.docs
	s.step(i, ev)
}

// read delivers the next entry, or all that is new where members are prompt.
func (s *State) read(i int) {
	m := s.own(i)
	next := s.after(m.state.Value().Index())
	if !s.bounds.Prompt {
		next = next[:1]
	}
	s.step(i, replica.Read{Now: m.clock, Page: page(next)})
}

func page(rs []*record) store.Page {
	p := store.Page{Records: make([]store.Record, len(rs)), Head: rs[len(rs)-1].Index}
	for i, r := range rs {
		p.Records[i] = r.Record
	}
	return p
}

// begin starts a process in place i: it loads the newest value, makes sure of its name, and has its pulse written.
func (s *State) begin(i int) {
	m := s.own(i)
	m.up, m.starts = true, m.starts+1
	m.state = replica.NewState(params(name(i), m.starts))
	m.clock = 1
	s.step(i, replica.Woken{Now: m.clock})
	s.step(i, replica.Read{Now: m.clock, Truncated: true})
	s.step(i, replica.SnapshotRead{Now: m.clock, Value: *s.head(), Found: true})
	s.step(i, replica.Read{Now: m.clock, Page: store.Page{Head: uint64(s.head().Index())}})
}

// stop ends process i. What it was about to append may still be done.
func (s *State) stop(i int) {
	m := s.own(i)
	if m.append != nil {
		s.orphans = append(s.orphans[:len(s.orphans):len(s.orphans)], *m.append)
	}
	*m = member{starts: m.starts, gone: m.gone}
}
