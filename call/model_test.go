package call

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/store"
)

// model is a caller, somebody else who waits for the same call, some members, one who sweeps, a store, and the faults
// that a scenario allows. What decides is the real thing: step, attempt, writing, claimant, submission, heading,
// cancelling, hearing, pageUse, fateOf, and the cluster's value.
//
// A write is made in two moves, it is done by the store and its answer is heard. A read is one: what is read is acted
// on by a write, which comes later. There are no clocks: that a member's lease is over by its own clock is a move, and
// that the cluster counts it out is another, which comes later; that is what the protocol promises. An era is longer
// than anything is kept, and than a request is under way.
type model struct {
	members  int
	faults   faults
	calls    int   // that the caller submits, one after the other; default 1
	attempts int64 // of a call, and of its handler; default 1
	handler  bool  // calls have an OnFailure
	waiter   bool  // somebody else waits, too
	ways     ways  // in which the function ends
	sweeps   bool  // the sweeper works all the time, and not only at the end
	from     from

	values map[string]cluster.Value // by what happened to the members
}

// faults are how many of each there may be.
type faults struct {
	crash  int8 // members die
	die    int8 // the caller dies
	lapse  int8 // a member's lease ends, and it is counted out
	rejoin int8 // it is taken in again
	late   int8 // a write's outcome is unknown: it comes later, or never
	lost   int8 // a write is done and its answer lost
	fail   int8 // a call of the store fails, with nothing done
	cancel int8 // the caller wishes to cancel
	eras   int8 // pass while things are under way
}

// ways are how a function may end, beside a result.
type ways struct{ err, permanent, timeout bool }

// from is where a model begins.
type from uint8

const (
	fromNothing from = iota
	fromPage         // the page is there
	fromQueued       // and the call
)

const (
	mostCalls   = 3
	mostMembers = 3
)

type system struct {
	calls   [mostCalls]document
	head    document
	last    int // version that was given last
	log     string
	members [mostMembers]member
	caller  *caller
	waiter  waiter
	sweeper sweeping
	late    []request
	left    faults
	era     int
	ghosts  [mostCalls]ghost
	broken  string
}

// document is a document of the store: a call, or the head of the page.
type document struct {
	version int // 0: there is none
	call    Record
	body    string
}

// ghost is what is remembered of a call beside what the program knows.
type ghost struct {
	accepted bool // Submit has returned its handle
	refused  bool // Submit said that it is not submitted
	void     bool // Submit has gone on to another number
	ended    bool
	out      Outcome
	begun    [2]int8 // runs of the function, and of its handler, without those that were handed back
	token    uint64  // of the newest run
	handlers int8
}

// The promises. Each is one of doc.go or of the guide.
const (
	promiseOverlap  = "runs of one call do not overlap"
	promiseToken    = "the token grows with each run"
	promiseReplaced = "a run that was replaced writes nothing"
	promiseAttempts = "no more runs than attempts"
	promiseFinal    = "once there is an outcome it does not change"
	promiseTold     = "who waits is told the outcome, and a run takes for written what is written"
	promiseKept     = "a call that was submitted is not lost"
	promiseOnce     = "what was not submitted, or was submitted again, does not run"
	promiseHandler  = "OnFailure is submitted exactly once"
	promiseCallback = "OnFailureOrTimeout calls back exactly once"
	promiseCancel   = "a wish to cancel that was persisted is heeded"
)

func memberName(p int) cluster.MemberID { return cluster.MemberID('a' + rune(p)) }

func versionOf(n int) store.Version {
	if n == 0 {
		return ""
	}
	return store.Version(strconv.Itoa(n))
}

// chronicle is every value that the cluster may come to have: 'A' says that a is counted out, 'a' that it is taken in
// again.
func (m model) chronicle() map[string]cluster.Value {
	v := cluster.Value{}
	index := cluster.Index(0)
	apply := func(v cluster.Value, index cluster.Index, c cluster.Command) cluster.Value {
		next, _ := v.Apply(cluster.Entry{Index: index, Writer: "w", Seq: uint64(index), Commands: []cluster.Command{c}})
		return next
	}
	for p := range m.members {
		index++
		v = apply(v, index, cluster.PrepareJoin{Member: memberName(p), Slots: 2, Weight: 100, Heartbeat: "pulse/" +
			string(memberName(p))})
	}
	known := map[string]cluster.Value{"": v}
	wave := []string{""}
	for range 2 * (m.faults.lapse + m.faults.crash) {
		var next []string
		for _, log := range wave {
			v := known[log]
			for p := range m.members {
				was, in := v.Member(memberName(p))
				at := v.Index() + 1
				if in {
					text := log + string('A'+rune(p))
					known[text] = apply(v, at, cluster.LeaveCluster{Member: was.ID, Incarnation: was.Incarnation})
					next = append(next, text)
				} else {
					text := log + string('a'+rune(p))
					known[text] = apply(v, at, cluster.PrepareJoin{Member: memberName(p), Slots: 2, Weight: 100,
						Heartbeat: "pulse/" + string(memberName(p))})
					next = append(next, text)
				}
			}
		}
		wave = next
	}
	return known
}

func (m model) prepared() model {
	m.calls, m.attempts = max(m.calls, 1), max(m.attempts, 1)
	m.values = m.chronicle()
	return m
}

func (m model) Start() []system {
	s := system{left: m.faults, caller: &caller{head: head{}, use: pageUse{}}}
	for p := range m.members {
		rec, _ := m.values[""].Member(memberName(p))
		s.members[p] = member{inc: rec.Incarnation, leased: true}
	}
	if m.from >= fromPage {
		s = m.follow(s, "the caller opens a page", "the store does the head of the caller",
			"the caller hears of its head")
	}
	if m.from >= fromQueued {
		s = m.follow(s, "the caller submits 0", "the store does the call of the caller", "the caller hears of its call",
			"the caller looks whether its page is old")
	}
	return []system{s}
}

// follow makes the moves of these names.
func (m model) follow(s system, names ...string) system {
	for _, name := range names {
		all := m.Next(s)
		i := slices.IndexFunc(all, func(move check.Move[system]) bool { return move.Name == name })
		if i < 0 {
			panic("no move is " + name)
		}
		s = all[i].To
	}
	return s
}

type moves struct {
	m    model
	from system
	out  []check.Move[system]
}

func (w *moves) add(what string, do func(*system)) {
	n := w.from
	n.late = slices.Clone(n.late)
	do(&n)
	w.m.judge(&n)
	w.out = append(w.out, check.Move[system]{Name: what, To: n})
}

// Next lists the moves.
func (m model) Next(s system) []check.Move[system] {
	w := moves{m: m, from: s}
	w.caller()
	w.waits()
	for p := range m.members {
		w.member(p)
	}
	w.sweep()
	for i, r := range s.late {
		w.add("the late "+r.kind+" of "+r.from+" arrives", func(n *system) {
			n.late = slices.Delete(n.late, i, i+1)
			w.m.do(n, &r)
		})
	}
	if s.left.eras > 0 && m.calm(s) {
		w.add("an era passes", func(n *system) {
			n.left.eras--
			n.era++
			n.late = nil
		})
	}
	return w.out
}

// calm: no request is under way, but those that are late and never come.
func (m model) calm(s system) bool {
	c := s.caller
	for _, r := range []request{c.submits.req, c.cancels.req, c.collects, c.removes, s.sweeper.req} {
		if r.kind != "" && !r.done {
			return false
		}
	}
	for p := range m.members {
		for _, r := range s.members[p].runs {
			if r != nil && r.req.kind != "" && !r.req.done {
				return false
			}
		}
	}
	return true
}

// judge looks at what must hold in every state.
func (m model) judge(s *system) {
	for i := range s.calls {
		effective := 0
		for p := range m.members {
			if r := s.members[p].runs[i]; r != nil && r.performing() && s.members[p].mayAct(r) {
				effective++
			}
		}
		if effective > 1 {
			s.breaks(promiseOverlap)
		}
	}
}

func (s *system) breaks(promise string) {
	if s.broken == "" {
		s.broken = promise
	}
}

func (m model) Broken(s system) string { return s.broken }

// Good: all who live are through, and what they have left behind is removed in time.
func (m model) Good(s system) bool {
	if !m.calm(s) || len(s.late) > 0 || !s.caller.over(m) || !m.settled(s) {
		return false
	}
	for p := range m.members {
		for _, r := range s.members[p].runs {
			if r != nil && !s.members[p].dead {
				return false
			}
		}
	}
	return m.swept(s)
}

func (m model) settled(s system) bool { return !m.waiter || s.waiter.begun == s.waiter.hearing.ended }

// text is a head as it is written.
func text(h head) string {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (d document) voids() []int {
	h, err := decodeHead(store.Doc{Value: []byte(d.body)})
	if err != nil {
		panic(err)
	}
	return h.Void
}
