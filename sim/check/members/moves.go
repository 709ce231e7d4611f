package members

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/sim/check"
)

// Model is the system that [check.Explore] walks.
type Model struct{ bounds Config }

// New is the model within bounds.
func New(c Config) Model { return Model{c} }

// Start implements check.Model: an operator has submitted a job; nobody has started.
func (m Model) Start() []*State { return []*State{start(m.bounds)} }

// Next implements check.Model.
func (m Model) Next(s *State) []check.Move[*State] {
	w := &moves{s: s, bounds: m.bounds}
	for i := range s.members {
		w.starts(i)
		if s.members[i].up {
			w.reads(i)
			w.looks(i)
			w.appends(i)
			w.writes(i)
			w.fails(i)
		}
	}
	w.lates()
	w.expires()
	return w.out
}

// moves collects the moves out of one state.
type moves struct {
	s      *State
	bounds Config
	out    []check.Move[*State]
}

func (w *moves) add(name string, do func(s *State)) {
	next := w.s.clone()
	do(next)
	next.writeUnnamed()
	if w.bounds.Prompt {
		next.catchUp()
		next.writeUnnamed()
	}
	next.forget()
	next.trim()
	if next.broken == "" {
		next.checkWork()
	}
	w.out = append(w.out, check.Move[*State]{Name: name, To: next})
}

// starts lets a process start and have its prepare-join done: it asks for nothing else before, so starting later and writing later are
// one, but where that append may fail. It may be dead by then, or have to wait for a pulse of its name.
func (w *moves) starts(i int) {
	m := w.s.members[i]
	if m.up || m.gone || m.starts > 0 && w.s.used.Restarts >= w.bounds.Restarts {
		return
	}
	begin := func(s *State) {
		if m.starts > 0 {
			s.used.Restarts++
		}
		s.begin(i)
	}
	started := w.s.clone()
	begin(started)
	e := started.members[i].append
	if e == nil || w.bounds.Failures > 0 {
		w.add(fmt.Sprintf("%s starts", name(i)), begin)
		return
	}
	w.done(fmt.Sprintf("%s starts, and", name(i)), i, *e, begin)
	if w.s.used.Crashes < w.bounds.Crashes {
		w.add(fmt.Sprintf("%s starts, and crashes before its prepare-join is done", name(i)), func(s *State) {
			begin(s)
			s.used.Crashes++
			s.stop(i)
		})
	}
}

func (w *moves) reads(i int) {
	m := w.s.members[i]
	switch {
	case !m.awake():
		w.add(fmt.Sprintf("%s goes on", name(i)), func(s *State) { s.wake(i) })
	case m.state.Value().Index() < w.s.head().Index():
		w.add(fmt.Sprintf("%s reads on behind entry %d", name(i), m.state.Value().Index()), func(s *State) { s.read(i) })
	}
}

// catchUp lets every member that has no append under way read what is new.
func (s *State) catchUp() {
	for i := range s.members {
		for m := s.members[i]; m.up && m.awake() && m.append == nil && m.state.Value().Index() < s.head().Index(); m = s.members[i] {
			s.read(i)
		}
	}
}

// forget drops the pulses of dead processes that nobody will ever ask for.
func (s *State) forget() {
	k := newNames(s)
	s.docs = slices.DeleteFunc(slices.Clone(s.docs), func(d replica.Pulse) bool {
		return s.orphaned(d.Key) && !k.Pulse(d.Key) && !slices.ContainsFunc(s.members, func(m *member) bool { return m.check == d.Key })
	})
}

// wake lets a member that was away find out how late it is, and what came meanwhile.
func (s *State) wake(i int) {
	m := s.own(i)
	s.step(i, replica.Woken{Now: m.clock})
	if m.answer != nil {
		a := *m.answer // older states hold it too
		m.answer, a.Now = nil, m.clock
		s.step(i, a)
	}
}

// looks are those that find a pulse gone; the others were delivered at once.
func (w *moves) looks(i int) {
	m := w.s.members[i]
	if !m.awake() {
		return
	}
	if m.check != "" && !w.s.exists(m.check) && w.s.clone().looked(i) {
		w.add(fmt.Sprintf("%s sees that %s is gone", name(i), m.check), func(s *State) { s.looked(i) })
	}
	if m.list {
		w.add(fmt.Sprintf("%s lists the pulses", name(i)), func(s *State) { s.listed(i) })
	}
}

func (w *moves) appends(i int) {
	e := w.s.members[i].append
	if e == nil {
		return
	}
	w.done(string(name(i)), i, *e, func(*State) {})
	if w.s.used.Failures < w.bounds.Failures {
		w.add(fmt.Sprintf("an append of %s fails: %s", name(i), said(*e)), func(s *State) {
			s.used.Failures++
			s.answered(i, replica.Appended{Seq: e.Seq, Outcome: replica.NotDone, Err: "the store is full"})
		})
	}
}

// writeUnnamed writes at once each pulse that nobody can have heard of: not the log, no entry that is under way, nobody who looks. Only
// its owner can tell whether it is there, and it says nothing before it is told; so writing it later leads to no other state.
func (s *State) writeUnnamed() {
	for i, m := range s.members {
		if m.pulse != "" && m.awake() && !newNames(s).Pulse(m.pulse) {
			s.renewed(i, m.pulse)
		}
	}
}

// writes is the pulse of another life than the first that others may know of before it is there. That of the first is written at once:
// nobody knows of it.
func (w *moves) writes(i int) {
	if m := w.s.members[i]; m.pulse != "" && m.awake() {
		w.add(fmt.Sprintf("%s has its pulse %s written", name(i), m.pulse), func(s *State) { s.renewed(i, m.pulse) })
	}
}

// done are the ways in which an append can be done.
func (w *moves) done(who string, i int, e cluster.Entry, first func(*State)) {
	text := fmt.Sprintf("%s appends entry %d: %s", who, w.s.head().Index()+1, said(e))
	w.add(text, func(s *State) {
		first(s)
		s.done(i, e, replica.Done)
	})
	if w.s.used.Duplicates >= w.bounds.Duplicates {
		return
	}
	w.add(text+"; the answer is lost", func(s *State) {
		first(s)
		s.used.Duplicates++
		s.done(i, e, replica.Unknown)
	})
	w.add(text+"; a copy of it is still on its way", func(s *State) {
		first(s)
		s.used.Duplicates++
		s.orphans = append(slices.Clip(s.orphans), e)
		s.done(i, e, replica.Done)
	})
}

// done puts an entry into the log and answers.
func (s *State) done(i int, e cluster.Entry, o replica.Outcome) {
	*s = *s.appended(e)
	a := replica.Appended{Seq: e.Seq, Outcome: o}
	if o == replica.Done {
		newest := s.log[len(s.log)-1]
		a.Index, a.Data = newest.entry.Index, newest.Data
	}
	s.answered(i, a)
}

// answered answers an append: at once, or when the member goes on.
func (s *State) answered(i int, a replica.Appended) {
	m := s.own(i)
	m.append = nil
	a.Now = m.clock
	if m.awake() {
		s.step(i, a)
	} else {
		m.answer = &a
	}
}

func (w *moves) fails(i int) {
	m := w.s.members[i]
	if w.s.used.Crashes < w.bounds.Crashes {
		w.add(fmt.Sprintf("%s crashes", name(i)), func(s *State) {
			s.used.Crashes++
			s.stop(i)
		})
	}
	if w.s.used.Leaves < w.bounds.Leaves && m.awake() && !m.leaving {
		w.add(fmt.Sprintf("%s is asked to leave", name(i)), func(s *State) {
			s.used.Leaves++
			s.own(i).leaving = true
			s.step(i, replica.Stop{Now: m.clock, Reason: "asked"})
		})
	}
	if w.s.used.Suspicions < w.bounds.Suspicions && m.awake() {
		for _, d := range w.s.docs {
			key := d.Key
			if strings.HasPrefix(key, prefix(i, m.starts)) {
				w.add(fmt.Sprintf("%s is away for longer than the TTL, and its pulse %s is gone", name(i), key), func(s *State) { s.lose(i, key) })
			}
		}
	}
}

// lose is a false suspicion: a live member's pulse vanishes, while the member is away for so long that its trust is over. The others
// have renewed theirs meanwhile.
func (s *State) lose(i int, key string) {
	s.used.Suspicions++
	s.vanish(key)
	for _, d := range s.docs {
		if !s.orphaned(d.Key) {
			s.renew(d.Key)
		}
	}
	for j, m := range s.members {
		if j != i && m.up && m.awake() {
			s.settle(j) // they have looked meanwhile
		}
	}
	if !s.bounds.Timeless {
		s.own(i).clock += protocol.Instant(2 * ttl)
	}
}

// lates are appends that nobody waits for any more.
func (w *moves) lates() {
	for k, e := range w.s.orphans {
		w.add(fmt.Sprintf("the store does a late append, entry %d: %s", w.s.head().Index()+1, said(e)), func(s *State) {
			s.orphans = slices.Delete(slices.Clone(s.orphans), k, k+1)
			*s = *s.appended(e)
		})
	}
}

// expires are pulses of dead processes.
func (w *moves) expires() {
	for _, d := range w.s.docs {
		key := d.Key
		if w.s.orphaned(key) {
			w.add(fmt.Sprintf("the pulse %s of a dead process is gone", key), func(s *State) { s.vanish(key) })
		}
	}
}

// orphaned tells whether the process that wrote a pulse is no more.
func (s *State) orphaned(key string) bool {
	for i := range s.members {
		if m := s.members[i]; m.up && strings.HasPrefix(key, prefix(i, m.starts)) {
			return false
		}
	}
	return true
}

func prefix(i int, start byte) string {
	return protocol.HeartbeatPrefix + string(name(i)) + "/" + params(name(i), start).Nonce + "-"
}

// said is what an entry says.
func said(e cluster.Entry) string {
	parts := make([]string, len(e.Commands))
	for i, c := range e.Commands {
		parts[i] = fmt.Sprint(c)
	}
	return strings.Join(parts, "; ")
}
