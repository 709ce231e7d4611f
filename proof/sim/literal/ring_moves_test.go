package literal

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/proof/check"
)

// Next implements check.Model. What the peers do stands first, what happens to them last, so that the first of several
// shortest traces is the one in which the fault comes late.
func (m Document) Next(s ringState) []check.Move[ringState] {
	w := moves{m: m, from: s}
	for p := range everybody.each {
		if s.peers[p].reads() {
			w.work(p)
		}
	}
	if len(w.out) == 0 {
		w.retry()
	}
	w.begin()
	w.fail()
	return w.out
}

// moves collects the moves out of one state.
type moves struct {
	m    Document
	from ringState
	out  []check.Move[ringState]
}

// add finishes a state: readers pass what does not concern them, and what all have read is folded into the base.
func (w *moves) add(s ringState, format string, args ...any) {
	w.m.settle(&s)
	w.out = append(w.out, check.Move[ringState]{Name: fmt.Sprintf(format, args...), To: s})
}

// work is what one peer may do: append what it has queued, report a death, read on.
func (w *moves) work(p peer) {
	l := &w.from.peers[p]
	if l.queued > 0 {
		w.append(p)
	}
	for q := range w.m.reports(l).each {
		s := w.from
		s.peers[p].fired = s.peers[p].fired.without(q)
		s.append(command{kind: leaveCluster, about: q})
		w.add(s, "%v sees that the heartbeat of %v is gone, and appends leave-cluster(%v)", p, q, q)
	}
	if int(l.at) < len(w.from.log) {
		s := w.from
		after, text := w.m.read(&s, p)
		s.peers[p] = after
		w.add(s, "%v reads %v: %s", p, w.from.log[l.at], text)
	}
}

func (w *moves) append(p peer) {
	s := w.from
	l := &s.peers[p]
	c, again := l.queue[0], ""
	if l.again {
		again = " again"
	}
	l.pop()
	l.again = false
	s.append(c)
	w.add(s, "%v appends %v%s", p, c, again)
	if w.from.lost > 0 {
		s := w.from
		s.lost--
		s.peers[p].again = true
		s.append(c)
		w.add(s, "%v appends %v; the reply is lost", p, c)
	}
}

// append copies the log: states share it.
func (s *ringState) append(c command) { s.log = append(slices.Clone(s.log), c) }

// retry is the second attempt of those who have backed off; they wait until all is quiet.
func (w *moves) retry() {
	for p := range everybody.each {
		if w.from.peers[p].phase == backOff {
			w.join(p, "tries to join again")
		}
	}
}

func (w *moves) begin() {
	for p := range w.m.sc.joiners.each {
		if w.from.peers[p].phase == outside {
			w.join(p, "wants to join")
		}
	}
}

func (w *moves) join(p peer, what string) {
	s := w.from
	l := local{phase: joining, heartbeat: true, at: uint8(len(s.log))}
	s.peers[p] = l
	s.append(command{kind: peerGC, about: p})
	w.add(s, "%v %s: it appends peer-gc(%v)", p, what, p)
}

// fail is what may happen to the peers.
func (w *moves) fail() {
	sc := w.m.sc
	if w.from.crashes > 0 && sc.together && w.from.alive()&sc.crash == sc.crash {
		s := w.from
		for p := range sc.crash.each {
			s.kill(p)
		}
		w.add(s, "%v die at once", sc.crash)
	}
	for p := range sc.crash.each {
		if w.from.crashes > 0 && !sc.together && w.from.peers[p].lives() {
			s := w.from
			s.kill(p)
			w.add(s, "%v dies", p)
		}
	}
	if p := sc.expire; p != nobody && !w.from.expired {
		s := w.from
		s.expired = true
		s.vanish(p)
		w.add(s, "the session of %v expires; %v lives and does not know", p, p)
	}
}

func (s *ringState) kill(p peer) {
	s.crashes = 0
	s.peers[p] = local{phase: dead}
	s.vanish(p)
}

// vanish removes a heartbeat. The watches on it fire.
func (s *ringState) vanish(p peer) {
	s.peers[p].heartbeat = false
	for q := range everybody.each {
		if l := &s.peers[q]; l.watches.has(p) {
			l.watches, l.fired = l.watches.without(p), l.fired.with(p)
		}
	}
}

// settle lets every reader pass what changes nothing at it: when it does so makes no difference to anybody. Then it
// folds what all have read.
func (m Document) settle(s *ringState) {
	least := len(s.log)
	for p := range everybody.each {
		l := &s.peers[p]
		if !l.reads() {
			continue
		}
		for int(l.at) < len(s.log) {
			next, _ := m.read(s, p)
			passed := *l
			passed.at++
			if next != passed {
				break
			}
			*l = next
		}
		least = min(least, int(l.at))
	}
	s.base = s.after(least)
	s.log = s.log[least:]
	for p := range everybody.each {
		if l := &s.peers[p]; l.reads() {
			l.at -= uint8(least)
		} else {
			l.at = 0
		}
	}
}
