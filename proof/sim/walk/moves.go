package walk

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/proof/check"
	kernel "github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/protocol"
)

// Model is the system that [check.Explore] walks.
type Model struct {
	rules  *Rules
	bounds Config
}

// New is the model of a protocol within bounds.
func New(r *Rules, c Config) Model { return Model{r, c} }

// Start implements check.Model: an operator has submitted a job; nobody has started.
func (m Model) Start() []*State { return []*State{start(m.rules, m.bounds)} }

// Next implements check.Model.
func (m Model) Next(s *State) []check.Move[*State] {
	w := &moves{s: s}
	for i := range s.members {
		w.starts(i)
		if s.members[i].up {
			w.reads(i)
			w.calls(i)
			w.fails(i)
		}
	}
	w.group()
	w.lates()
	w.guardians()
	w.expires()
	return w.out
}

type moves struct {
	s   *State
	out []check.Move[*State]
}

func (w *moves) add(name string, do func(s *State)) {
	next := w.s.clone()
	do(next)
	w.reach(name, next)
}

// fault adds a move that uses up a fault of a kind, while the bounds have one left.
func (w *moves) fault(f Fault, name string, do func(s *State)) {
	if w.left(f) {
		w.add(name, func(s *State) {
			s.used[f]++
			do(s)
		})
	}
}

func (w *moves) left(f Fault) bool { return w.s.used[f] < w.s.bounds.Faults[f] }

// reach adds the state behind a move, after what nobody else can observe.
func (w *moves) reach(name string, next *State) {
	next.writeSecrets()
	next.heed()
	if w.s.rules.Settled {
		next.tell()
	} else if w.s.bounds.Prompt {
		next.catchUp()
		next.writeSecrets()
		next.heed()
	}
	next.forget()
	next.trim()
	if next.broken == "" {
		next.checkWork()
	}
	move := check.Move[*State]{Name: name, Said: next.heard, To: next}
	next.heard = 0
	w.out = append(w.out, move)
}

// starts lets a process start. Where its first write is all that it asks for, that is done in the same move: starting
// later and writing later are one, but where the write may fail. It may be dead by then, or have nothing to write yet.
func (w *moves) starts(i int) {
	m := w.s.members[i]
	if m.up || m.gone || m.starts > 0 && !w.left(Restarts) {
		return
	}
	begin := func(s *State) {
		if m.starts > 0 {
			s.used[Restarts]++
		}
		s.begin(i)
	}
	started := w.s.clone()
	begin(started)
	k := slices.IndexFunc(started.members[i].calls, func(e machine.Effect) bool { return w.s.way(e) == Risky })
	if k < 0 || w.s.bounds.Faults[Failures] > 0 || !w.s.rules.JoinFirst {
		w.add(fmt.Sprintf("%s starts", name(i)), begin)
		return
	}
	w.done(fmt.Sprintf("%s starts, and", name(i)), i, k, started.members[i].calls[k], begin)
	w.fault(Crashes, fmt.Sprintf("%s starts, and crashes before its first write is done", name(i)), func(s *State) {
		begin(s)
		s.stop(i)
	})
}

func (w *moves) reads(i int) {
	m := w.s.members[i]
	switch {
	case !m.awake():
		w.add(fmt.Sprintf("%s goes on", name(i)), func(s *State) { s.wake(i) })
	case len(m.hints) > 0:
		w.add(fmt.Sprintf("%s is told of changes below %q", name(i), m.hints), func(s *State) { s.hear(i) })
	case w.s.rules.Read == nil:
	case w.s.behind(m):
		w.add(fmt.Sprintf("%s reads on behind entry %d", name(i), m.index()), func(s *State) { s.read(i) })
	}
}

// catchUp lets every member that has no write under way read what is new.
func (s *State) catchUp() {
	for i := range s.members {
		for m := s.members[i]; m.up && m.awake() && !s.writing(m) && s.behind(m); m = s.members[i] {
			s.read(i)
		}
	}
}

// forget drops late writes that can do nothing any more, and the documents of dead processes that nobody will ever ask
// for.
func (s *State) forget() {
	if s.rules.Over != nil {
		s.orphans = slices.DeleteFunc(slices.Clone(s.orphans), func(o orphan) bool {
			key, v := s.rules.Over(o.effect)
			at, ok := s.docs.Find(key)
			return v != "" && (!ok || s.docs[at].Version != v)
		})
	}
	if s.rules.Names == nil {
		return
	}
	n := newNames(s)
	s.docs = slices.DeleteFunc(slices.Clone(s.docs), func(d doc) bool { return !s.live(d.Of.life) && !n.Known(d.Key) })
}

// wake lets a member that was away find out how late it is, and what came meanwhile.
func (s *State) wake(i int) {
	s.step(i, kernel.Woken{})
	m := s.own(i)
	answers := m.answers
	m.answers = nil
	for _, a := range answers {
		s.step(i, a)
	}
}

// calls are done and answered, each in a move of its own.
func (w *moves) calls(i int) {
	for k, e := range w.s.members[i].calls {
		if w.s.way(e) == Risky {
			w.done(string(name(i)), i, k, e, func(*State) {})
			w.fault(Failures, fmt.Sprintf("a write of %s fails: %s", name(i), machine.Short(e)),
				func(s *State) { s.write(i, k, model.Fails) })
		} else if to := w.s.clone(); w.s.members[i].awake() && to.deliver(i, k) {
			w.reach(fmt.Sprintf("%s has its call done: %s", name(i), machine.Short(e)), to)
		}
	}
}

// writeSecrets writes at once each document that nobody can have heard of: not the log, no write that is under way,
// nobody who looks. Only its owner can tell whether it is there, and it says nothing before it is told; so writing it
// later leads to no other state.
func (s *State) writeSecrets() {
	for i, m := range s.members {
		for k, e := range m.calls {
			if s.way(e) == Secret && m.awake() && !slices.ContainsFunc(s.rules.Names(e), newNames(s).Known) {
				s.deliver(i, k)
				break
			}
		}
	}
}

// done are the ways in which a write can be done.
func (w *moves) done(who string, i, k int, e machine.Effect, first func(*State)) {
	text := fmt.Sprintf("%s has its write done at entry %d: %s", who, w.s.head().Index(), machine.Short(e))
	w.add(text, func(s *State) {
		first(s)
		s.write(i, k, model.Fine)
	})
	w.fault(Duplicates, text+"; the answer is lost", func(s *State) {
		first(s)
		s.write(i, k, model.NoReply)
	})
	w.fault(Duplicates, text+"; a copy of it is still on its way", func(s *State) {
		first(s)
		s.orphans = append(slices.Clip(s.orphans), orphan{s.life(i), e})
		s.write(i, k, model.Fine)
	})
}

// write does a write and answers: at once, or when the member goes on.
func (s *State) write(i, k int, f model.Fate) {
	m := s.own(i)
	ev := s.call(s.life(i), m.calls[k], f)
	m.calls = slices.Delete(slices.Clone(m.calls), k, k+1)
	if m.awake() {
		s.step(i, ev)
	} else {
		m.answers = append(slices.Clip(m.answers), ev)
	}
}

func (w *moves) fails(i int) {
	m := w.s.members[i]
	w.fault(Crashes, fmt.Sprintf("%s crashes", name(i)), func(s *State) { s.stop(i) })
	if m.awake() && !m.leaving {
		w.fault(Leaves, fmt.Sprintf("%s is asked to leave", name(i)), func(s *State) {
			s.own(i).leaving = true
			s.step(i, kernel.Stop{Reason: "asked"})
		})
	}
	if w.left(Suspicions) && m.awake() {
		for _, d := range w.s.sessions(func(d doc) bool { return w.s.live(d.Of.life) && d.Of.member == i }) {
			w.fault(Suspicions, fmt.Sprintf("%s is away for longer than the TTL, and its session with %s is over",
				name(i), d.Key), func(s *State) { s.lose(i, d.Of) })
		}
	}
}

// sessions are the first documents of those whose documents suit.
func (s *State) sessions(suits func(doc) bool) []doc {
	var out []doc
	for _, d := range s.docs {
		if d.Of.session != "" && suits(d) && !slices.ContainsFunc(out, d.Of.same) {
			out = append(out, d)
		}
	}
	return out
}

// lose is a false suspicion: a live member's session ends, while the member is away for so long that its lease is over.
// The others have renewed theirs meanwhile.
func (s *State) lose(i int, of owner) {
	s.vanish(of)
	s.own(i).lost++
	s.docs = slices.Clone(s.docs)
	for k, d := range s.docs {
		if s.live(d.Of.life) && s.rules.Heartbeat(d.Key) {
			s.docs[k].Version = s.version(d.Key, d.Version[1:])
		}
	}
	for j, m := range s.members {
		if j != i && m.up && m.awake() {
			s.settle(j) // they have looked meanwhile
		}
	}
	s.sleep(i)
}

// sleep lets the lease of a member that was away be over.
func (s *State) sleep(i int) {
	if !s.bounds.Timeless {
		s.own(i).clock += protocol.Instant(2 * ttl)
	}
}

// lates are writes that nobody waits for any more.
func (w *moves) lates() {
	for k, o := range w.s.orphans {
		w.add(fmt.Sprintf("the store does a late write at entry %d: %s", w.s.head().Index(), machine.Short(o.effect)),
			func(s *State) {
				s.orphans = slices.Delete(slices.Clone(s.orphans), k, k+1)
				s.call(o.life, o.effect, model.Fine)
			})
	}
}

// expires are sessions of dead processes.
func (w *moves) expires() {
	for _, d := range w.s.sessions(func(d doc) bool { return !w.s.live(d.Of.life) }) {
		w.add(fmt.Sprintf("the session of a dead process is over: %s is gone", d.Key),
			func(s *State) { s.vanish(d.Of) })
	}
}
