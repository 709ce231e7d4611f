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
	for p := peerA; p < peers; p++ {
		l := &s.peers[p]
		if l.reads() && (int(l.at) < len(s.log) || l.queued > 0 || m.reports(l) != 0) {
			return true
		}
	}
	return false
}

// reports are the deaths that a peer may report now.
func (m Document) reports(l *local) peerSet {
	if l.phase == inside || m.sc.eager && l.phase == bound {
		return l.fired
	}
	return 0
}

func (s *ringState) alive() peerSet {
	var set peerSet
	for p := peerA; p < peers; p++ {
		if s.peers[p].lives() {
			set = set.with(p)
		}
	}
	return set
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
	for p := peerA; p < peers; p++ {
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
