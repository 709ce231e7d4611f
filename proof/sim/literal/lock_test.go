package literal

import (
	"fmt"

	"github.com/rota-run/rota/internal/proof/check"
)

// Locks is a lock in a document and two nodes that want it: as the document has it, which compares wall clocks, or as
// Rota has it, which watches versions, counts its own time from before it sent, and gives tokens.
type Locks struct {
	sc   LockScenario
	ours bool
}

var _ check.Model[lockState] = Locks{}

// NewLocks is the model of a scenario, by the document's rules or by ours.
func NewLocks(sc LockScenario, ours bool) Locks { return Locks{sc, ours} }

// A lease lasts for some ticks. By our rules others wait one tick more and a holder stops one tick earlier: that is ρ
// and the margin.
const (
	leaseTicks = 3
	lastTick   = 7
)

// lockDoc is the lock document. A version of 0 means that there is none.
type lockDoc struct {
	owner   int8 // -1 for none
	expire  int8 // by the owner's wall clock
	version int8
	token   int8 // raised with each change of holder
}

// lockNode is one node. Its clock is the true time plus its skew.
type lockNode struct {
	until    int8 // it holds the lock until its clock shows this; 0: it does not
	token    int8 // under which it holds
	version  int8 // of the document as it wrote it last
	write    lockWrite
	about    bool // it has looked at the clock, and is about to act
	seen     int8 // version that it saw last
	since    int8 // its clock when it saw that version first
	released bool
	last     int8 // its clock when it sent last: it sends once in a tick
}

// lockWrite is a write that is under way.
type lockWrite struct {
	kind  lockKind
	sent  int8 // the node's clock
	based int8 // the version that it replaces
}

type lockKind uint8

const (
	noWrite lockKind = iota
	acquire
	renew
	unlock
)

func (k lockKind) String() string { return [...]string{"nothing", "lock", "renewal", "unlock"}[k] }

// lockState is the whole system.
type lockState struct {
	now    int8
	doc    lockDoc
	nodes  [2]lockNode
	newest int8 // the largest token under which the resource was changed
	stale  bool // a former holder has changed it
	late   int8 // writes that were slower than a tick
}

// The promises of a lock.
const (
	promiseOne   = "one node holds the lock"
	promiseFence = "a former holder changes nothing"
)

// Start implements check.Model.
func (m Locks) Start() []lockState {
	return []lockState{{now: 1, doc: lockDoc{owner: -1}}}
}

// Key implements check.Model.
func (m Locks) Key(s lockState) string { return fmt.Sprint(s) }

// Good implements check.Model: time is up and nothing is under way, or somebody holds the lock.
func (m Locks) Good(s lockState) bool {
	return s.now == lastTick || m.holds(&s, 0) || m.holds(&s, 1)
}

// Broken implements check.Model.
func (m Locks) Broken(s lockState) string {
	switch {
	case m.holds(&s, 0) && m.holds(&s, 1):
		return promiseOne
	case s.stale:
		return promiseFence
	}
	return ""
}

func (m Locks) clock(s *lockState, n int) int8 { return s.now + m.sc.skew[n] }

// holds tells whether a node takes the lock for its own.
func (m Locks) holds(s *lockState, n int) bool { return m.clock(s, n) < s.nodes[n].until }

// Describe shows a state.
func (m Locks) Describe(s lockState) string {
	text := "there is no document"
	if s.doc.version > 0 {
		text = fmt.Sprintf("the document says %s", m.says(s.doc))
	}
	for n := range s.nodes {
		if m.holds(&s, n) {
			text += fmt.Sprintf("; %s holds the lock until its clock shows %d, and it shows %d", node(n),
				s.nodes[n].until, m.clock(&s, n))
		}
	}
	return text
}

func (m Locks) says(d lockDoc) string {
	if d.owner < 0 || d.expire == 0 {
		return "free"
	}
	if m.ours {
		return fmt.Sprintf("%s, token %d", node(int(d.owner)), d.token)
	}
	return fmt.Sprintf("%s until %d", node(int(d.owner)), d.expire)
}

func node(n int) string { return string(rune('A' + n)) }

// LockScenario is what may happen to two nodes that share a lock document.
type LockScenario struct {
	Name, Title, Flaw string

	skew     [2]int8 // how far each node's wall clock is ahead
	renewals bool    // holders renew
	unlocks  bool    // each holder may unlock, once
	blind    bool    // by the document's rules unlock and renewal don't ask for a version
	acts     bool    // holders change a resource
	late     int8    // how many ticks writes and effects may be late, in all
}

// LockScenarios are those in which the document's lock breaks.
func LockScenarios() []LockScenario {
	return []LockScenario{
		{
			Name: "clock-ahead", Title: "One clock is ahead",
			Flaw: "“Current time is past expire timestamp” compares a time that one machine wrote with the clock of another.",
			skew: [2]int8{0, leaseTicks},
		},
		{
			Name: "pause", Title: "A holder looks at its clock, and is stopped before it acts",
			Flaw: "“Lock holder must not perform any operation once the expire time has arrived” can't be kept by a process that does not run. " +
				"Only the resource can refuse, and the document gives it nothing to compare.",
			acts: true, late: leaseTicks + 1,
		},
		{
			Name: "late-unlock", Title: "An unlock arrives late",
			Flaw:    "“Unlocking by setting expire time to 0”, without a version, frees whoever holds the lock by then.",
			unlocks: true, blind: true, late: leaseTicks + 1,
		},
		{
			Name: "late-renewal", Title: "A renewal arrives late",
			Flaw:     "A renewal that is written without a version takes the lock back from the next holder, who does not hear of it.",
			renewals: true, blind: true, late: leaseTicks + 1,
		},
	}
}
