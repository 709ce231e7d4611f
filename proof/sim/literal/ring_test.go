package literal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/proof/check"
)

// The promises that a ring makes. They are judged where nothing is under way.
const (
	promiseDeaths  = "every death is reported"
	promiseIn      = "every living joiner gets in"
	promiseWatched = "everyone in the cluster is watched by a living member"
	promiseRing    = "the members are one ring"
	promiseAlive   = "nobody whose heartbeat stands is removed"
)

// phase is where a peer stands in its life.
type phase uint8

const (
	outside phase = iota // it has not begun to join
	joining              // its prepare-join is not read yet
	bound                // it has read its prepare-join and waits to be accepted
	backOff              // it has aborted and will try again
	inside               // a member, as far as it knows
	stopped              // it has read that it was removed
	dead
)

// local is what one peer has besides the log.
type local struct {
	phase     phase
	heartbeat bool // its ephemeral node is there
	again     bool // the reply to its last append was lost: it sends it again
	at        uint8
	watches   peerSet // watches that are set
	fired     peerSet // watches that have fired, and are not reported yet
	queue     [4]command
	queued    uint8
}

func (l *local) reads() bool { return l.phase >= joining && l.phase <= inside }
func (l *local) lives() bool { return l.phase != outside && l.phase != dead }

func (l *local) push(c command) {
	l.queue[l.queued] = c
	l.queued++
}

func (l *local) pop() {
	copy(l.queue[:], l.queue[1:])
	l.queued--
	l.queue[l.queued] = command{}
}

// ringState is the whole system: what all readers have applied, the rest of the log, and each peer.
type ringState struct {
	base    pairs
	log     []command // never changed in place: states share it
	peers   [peers]local
	crashes int
	expired bool
	lost    int
}

// Document is the ring of the source document, read literally; where it is silent or can be read in two ways, kindly.
type Document struct{ sc Scenario }

var _ check.Model[ringState] = Document{}

// NewDocument is the model of the document under a scenario.
func NewDocument(sc Scenario) Document { return Document{sc} }

// Start implements check.Model.
func (m Document) Start() []ringState {
	s := ringState{base: inRing(m.sc.members), crashes: 1, lost: m.sc.lost}
	s.base.id = m.sc.firstID
	for p := range m.sc.members.each {
		s.peers[p] = local{phase: inside, heartbeat: true}
		s.peers[p].watches = s.peers[p].watches.with(s.base.pairs[p])
	}
	return []ringState{s}
}

// Key implements check.Model.
func (m Document) Key(s ringState) string {
	return fmt.Sprint(s.base, s.log, s.peers, s.crashes, s.expired, s.lost)
}

// Good implements check.Model: nothing is under way and nobody waits to try again.
func (m Document) Good(s ringState) bool {
	return !m.busy(&s) && !slices.ContainsFunc(s.peers[:], func(l local) bool { return l.phase == backOff })
}

// Broken implements check.Model.
func (m Document) Broken(s ringState) string {
	if m.busy(&s) {
		return ""
	}
	r := s.head()
	members := r.members()
	switch {
	case r.everyone()&^s.alive() != 0:
		return promiseDeaths
	case s.waiting():
		return promiseIn
	case s.unwatched(members) != 0:
		return promiseWatched
	case !r.oneRing():
		return promiseRing
	}
	return ""
}

// busy: somebody has something to read, to append or to report.
func (m Document) busy(s *ringState) bool {
	return slices.ContainsFunc(s.peers[:], func(l local) bool {
		return l.reads() && (int(l.at) < len(s.log) || l.queued > 0 || m.reports(&l) != 0)
	})
}

// reports are the deaths that a peer may report now.
func (m Document) reports(l *local) peerSet {
	if l.phase == inside || m.sc.eager && l.phase == bound {
		return l.fired
	}
	return 0
}

func (s *ringState) alive() peerSet {
	return those(func(p peer) bool { return s.peers[p].lives() })
}

func (s *ringState) waiting() bool {
	return slices.ContainsFunc(s.peers[:], func(l local) bool { return l.phase == joining || l.phase == bound })
}

// unwatched are those of the members that no living member watches; one that is alone needs nobody.
func (s *ringState) unwatched(members peerSet) peerSet {
	if members.count() < 2 {
		return 0
	}
	for p := range members.each {
		if s.peers[p].phase == inside {
			members &^= s.peers[p].watches
		}
	}
	return members
}

// after is the replica of one who has applied the first n entries of the log.
func (s *ringState) after(n int) pairs {
	r := s.base
	for _, c := range s.log[:n] {
		r.apply(c)
	}
	return r
}

func (s *ringState) head() pairs { return s.after(len(s.log)) }

// Describe shows a state: the pairs, and who watches whom.
func (m Document) Describe(s ringState) string {
	r := s.head()
	parts := []string{"pairs " + r.String()}
	for p := range everybody.each {
		switch l := s.peers[p]; {
		case l.phase == dead:
			parts = append(parts, p.String()+" is dead")
		case l.phase == stopped:
			parts = append(parts, p.String()+" is out")
		case l.phase == bound || l.phase == joining:
			parts = append(parts, p.String()+" waits")
		case l.watches != 0:
			parts = append(parts, fmt.Sprintf("%v watches %v", p, l.watches))
		}
	}
	if un := s.unwatched(r.members()); un != 0 {
		parts = append(parts, fmt.Sprintf("no living member watches %v", un))
	}
	return strings.Join(parts, "; ")
}

// read is what a peer does when it applies the next entry: the side effects and reactions of the command reference. It
// returns the peer as it is then, and what it did in words.
func (m Document) read(s *ringState, p peer) (local, string) {
	r := reader{m: m, s: s, p: p, l: s.peers[p]}
	r.before = s.after(int(r.l.at))
	r.after = r.before
	c := s.log[r.l.at]
	changed := r.after.apply(c)
	r.l.at++
	switch {
	case c.kind == peerGC && c.about == p:
		return r.l, r.collect()
	case c.kind == prepareJoin && c.about == p && r.l.phase == joining:
		return r.l, r.bind()
	case c.kind == abortJoin && c.about == p && r.l.phase != inside:
		r.l = local{phase: backOff, heartbeat: r.l.heartbeat, at: r.l.at}
		return r.l, "it drops its watch and backs off"
	case c.kind == notifyWatchers && c.watcher == p && changed:
		return r.l, r.notified(c)
	case c.kind == acceptJoin && c.about == p && changed:
		r.l.phase = inside
		return r.l, "it is in"
	case c.kind == leaveCluster:
		return r.l, r.left(c.about, changed)
	}
	return r.l, "nothing to do"
}

// reader is one peer that applies one entry.
type reader struct {
	m             Document
	s             *ringState
	p             peer
	l             local
	before, after pairs
}

// watch sets a watch. On a heartbeat that is gone it fires at once, if whoever sets it looks at the answer.
func (r *reader) watch(q peer) {
	switch {
	case q == r.p || q == nobody:
	case r.s.peers[q].heartbeat:
		r.l.watches = r.l.watches.with(q)
	case !r.m.sc.noLook:
		r.l.fired = r.l.fired.with(q)
	}
}

// collect is peer-gc: leave-cluster for each member whose heartbeat is missing, then the attempt itself.
func (r *reader) collect() string {
	var gone peerSet
	for q := range r.before.members().each {
		if !r.s.peers[q].heartbeat {
			gone = gone.with(q)
			r.l.push(command{kind: leaveCluster, about: q})
		}
	}
	r.l.push(command{kind: prepareJoin, about: r.p})
	if gone == 0 {
		return "all heartbeats are there"
	}
	return fmt.Sprintf("the heartbeat of %v is gone", gone)
}

// bind is the joiner that meets its own prepare-join.
func (r *reader) bind() string {
	target := r.after.prepared[r.p]
	switch {
	case r.after.alone == r.p:
		r.l.phase = inside
		return "nobody is there, it is in"
	case target == nobody:
		r.l.phase = bound
		r.l.push(command{kind: abortJoin, about: r.p})
		return "every member is somebody's target"
	}
	r.l.phase = bound
	r.watch(target)
	w := r.before.watcherOf(target)
	r.l.push(command{kind: notifyWatchers, about: r.p, watcher: w})
	return fmt.Sprintf("its target is %v, whose watcher is %v; it watches %v", target, w, target)
}

// notified is the watcher that is told to watch the joiner instead of its target.
func (r *reader) notified(c command) string {
	target := r.after.accepted[c.about]
	r.watch(c.about)
	r.l.watches = r.l.watches.without(target)
	r.l.push(command{kind: acceptJoin, about: c.about, watcher: r.p, target: target})
	return fmt.Sprintf("it watches %v, and %v no longer", c.about, target)
}

// left closes the ring: whoever watched the one that left watches its successor.
func (r *reader) left(q peer, changed bool) string {
	if q == r.p {
		r.l = local{phase: stopped, at: r.l.at}
		return "it is out, and stops"
	}
	if !changed {
		return "nothing to do"
	}
	var next peer
	switch {
	case r.before.pairs[r.p] == q:
		next = r.before.pairs[q]
	case r.before.notified[q] == r.p:
		next = r.before.pairs[r.p]
	default:
		return "nothing to do"
	}
	r.l.watches = r.l.watches.without(q)
	r.watch(next)
	return fmt.Sprintf("it watches %v", next)
}
