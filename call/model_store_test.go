package call

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// request is one write that is under way.
type request struct {
	kind    string // "" for none; call, head, removal of the call, removal of the head
	from    string
	number  int
	version store.Version
	call    Record
	body    string

	run   *runner // whose outcome it is; nil for anything else
	back  bool    // it hands the call back
	done  bool    // the answer is on its way
	reply answer
}

const (
	aCall       = "call"
	aHead       = "head"
	callRemoval = "removal of the call"
	headRemoval = "removal of the head"
)

func (r request) doc(s *system) *document {
	if r.kind == aHead || r.kind == headRemoval {
		return &s.head
	}
	return &s.calls[r.number]
}

// do is the store.
func (m model) do(n *system, r *request) {
	r.done = true
	d := r.doc(n)
	switch removes := r.kind == callRemoval || r.kind == headRemoval; {
	case versionOf(d.version) != r.version && removes:
		r.reply = removalEnded{}
		return
	case versionOf(d.version) != r.version:
		r.reply = putEnded{err: store.ErrConflict}
		return
	case removes:
		if r.kind == callRemoval {
			n.auditRemoval(*r, d.call)
		}
		*d = document{}
		r.reply = removalEnded{removed: true}
		return
	}
	if r.kind == aCall {
		m.audit(n, *r, *d)
	}
	n.last++
	*d = document{version: n.last, call: r.call, body: r.body}
	r.reply = putEnded{version: versionOf(n.last)}
}

// audit looks at a write of a call that is done.
func (m model) audit(n *system, r request, old document) {
	g, was, now := &n.ghosts[r.number], old.call, r.call
	if old.version == 0 {
		return // created
	}
	out, ended := now.Ended()
	if was.State.Final() || g.ended && (!ended || !sameOutcome(out, g.out)) {
		n.breaks(promiseFinal)
	}
	if ended && !g.ended {
		g.ended, g.out = true, out
		if out.State == Failed && m.handler {
			g.handlers++
			if now.Function != handlerName || now.State != Queued {
				n.breaks(promiseHandler)
			}
		}
		if was.Cancel && out.State == Failed {
			n.breaks(promiseCancel)
		}
	}
	if was.Cancel && now.State == Running && now.runner().Nonce != was.runner().Nonce || was.Cancel &&
		now.State == Queued {
		n.breaks(promiseCancel)
	}
	if g.handlers > 1 || now.Function == handlerName && (g.handlers == 0 || g.out.State != Failed) {
		n.breaks(promiseHandler)
	}
	if r.run != nil {
		m.auditRun(n, r, was)
	}
}

// auditRun looks at what came of a run.
func (m model) auditRun(n *system, r request, was Record) {
	if was.Token != r.run.token {
		n.breaks(promiseReplaced)
	}
	if r.back && r.run.began {
		n.ghosts[r.number].begun[stage(was)]--
	}
	for p := range m.members { // who made the request, if it is still about
		if x := n.members[p].runs[r.number]; x != nil && x.a.by.Nonce == r.run.a.by.Nonce {
			y := *x
			y.written = true
			n.members[p].runs[r.number] = &y
		}
	}
}

func (s *system) auditRemoval(r request, was Record) {
	g := &s.ghosts[r.number]
	if !was.State.Final() && (g.accepted || g.begun != [2]int8{}) {
		s.breaks(promiseKept)
	}
}

func sameOutcome(a, b Outcome) bool { return reflect.DeepEqual(a, b) }

const handlerName = "handler"

func stage(r Record) int {
	if r.Outcome != nil {
		return 1
	}
	return 0
}

// get is a read of a call.
func (s *system) get(number int) got {
	d := s.calls[number]
	if d.version == 0 {
		return got{err: store.ErrNotFound}
	}
	return got{call: stored{key: strconv.Itoa(number), version: versionOf(d.version), Record: d.call}}
}

func (s *system) getHead() gotHead {
	if s.head.version == 0 {
		return gotHead{err: store.ErrNotFound}
	}
	return gotHead{version: versionOf(s.head.version), body: s.head.body}
}

// writes adds the moves of a request: the store does it, the answer is heard, or a fault comes between. of finds the
// request in a state, and hear takes the answer in.
func (w *moves) writes(r request, of func(*system) *request, hear func(*system, answer)) {
	doubt := answer(putEnded{err: store.ErrUnknown})
	refusal := answer(putEnded{err: store.ErrUnavailable})
	if r.kind == callRemoval || r.kind == headRemoval {
		doubt, refusal = removalEnded{err: store.ErrUnknown}, removalEnded{err: store.ErrUnavailable}
	}
	left := w.from.left
	if !r.done {
		w.add(fmt.Sprintf("the store does the %s of %s", r.kind, r.from), func(n *system) { w.m.do(n, of(n)) })
		if left.late > 0 {
			w.add(fmt.Sprintf("the %s of %s is late", r.kind, r.from), func(n *system) {
				n.left.late--
				n.late = append(n.late, r)
				hear(n, doubt)
			})
		}
		if left.fail > 0 {
			w.add(fmt.Sprintf("the store refuses the %s of %s", r.kind, r.from),
				func(n *system) { n.left.fail--; hear(n, refusal) })
		}
		return
	}
	w.add(fmt.Sprintf("%s hears of its %s", r.from, r.kind), func(n *system) { hear(n, r.reply) })
	if left.lost > 0 && done(r.reply) {
		w.add(fmt.Sprintf("the answer to the %s of %s is lost", r.kind, r.from),
			func(n *system) { n.left.lost--; hear(n, doubt) })
	}
}

func done(a answer) bool {
	switch a := a.(type) {
	case putEnded:
		return a.err == nil
	case removalEnded:
		return a.removed
	}
	return false
}

// reads adds the moves of a read.
func (w *moves) reads(what string, read func(*system) answer, failure answer, hear func(*system, answer)) {
	w.add(what, func(n *system) { hear(n, read(n)) })
	if w.from.left.fail > 0 {
		w.add(what+", and the store is away", func(n *system) { n.left.fail--; hear(n, failure) })
	}
}

// abandon is what becomes of a request whose maker dies.
func (s *system) abandon(r request) {
	if r.kind != "" && !r.done {
		s.late = append(s.late, r)
	}
}

// oneEra is longer than anything is kept.
const oneEra = 100 * time.Hour

// sweeping is the sweeper.
type sweeping struct {
	looked bool // it has listed the heads, and this one was among them
	head   document
	seen   sight
	known  bool
	parts  [mostCalls + 1]int // the versions in its sum
	todo   []request          // removals
	req    request
}

// sweep adds the moves of the sweeper.
func (w *moves) sweep() {
	q := &w.from.sweeper
	switch {
	case !w.m.sweeps:
	case q.req.kind != "":
		w.writes(q.req, func(n *system) *request { return &n.sweeper.req }, func(n *system, a answer) {
			n.sweeper.req = request{}
			if end, _ := a.(removalEnded); end.err != nil {
				n.sweeper.todo = nil
			} else if q.req.kind == headRemoval {
				n.sweeper.known, n.sweeper.seen, n.sweeper.parts = false, sight{}, [mostCalls + 1]int{}
			}
		})
	case len(q.todo) > 0:
		w.add("the sweeper removes something", func(n *system) {
			n.sweeper.req, n.sweeper.todo = q.todo[0], slices.Clone(q.todo[1:])
		})
	case !q.looked && w.from.head.version != 0:
		w.add("the sweeper lists the heads", func(n *system) { n.sweeper.looked, n.sweeper.head = true, n.head })
	case q.looked:
		w.add("the sweeper lists the page", w.m.lookAtPage)
	}
}

// lookAtPage is what the sweeper does with a page.
func (m model) lookAtPage(n *system) {
	q := &n.sweeper
	q.looked = false
	parts, calls := [mostCalls + 1]int{q.head.version}, 0
	for i, d := range n.calls {
		if parts[i+1] = d.version; d.version != 0 {
			calls++
		}
	}
	sum := fnv.New64a()
	fmt.Fprint(sum, parts)
	now := sight{sum.Sum64(), protocol.Instant(n.era) * protocol.Instant(oneEra)}
	switch fateOf(q.seen, q.known, now, calls, oneEra) {
	case changed:
		q.seen, q.known, q.parts = now, true, parts
	case abandoned:
		q.todo = []request{{kind: headRemoval, from: "the sweeper", version: versionOf(q.head.version)}}
	case expired:
		for i, d := range n.calls {
			if d.version != 0 && expires(d.call, i, q.head.voids()) {
				q.todo = append(q.todo, request{kind: callRemoval, from: "the sweeper", number: i,
					version: versionOf(d.version)})
			}
		}
	case stay:
	}
	q.head = document{}
}

// swept reports whether the sweeper, left alone, would remove all that is there.
func (m model) swept(s system) bool {
	alone := m
	alone.sweeps, alone.faults = true, faults{}
	s.left, s.sweeper = faults{}, sweeping{}
	for range 12 {
		s.era++
		for range 40 {
			w := moves{m: alone, from: s}
			w.sweep()
			if len(w.out) == 0 {
				break
			}
			s = w.out[0].To
			if !s.sweeper.looked && len(s.sweeper.todo) == 0 && s.sweeper.req.kind == "" {
				break
			}
		}
	}
	for _, d := range s.calls {
		if d.version != 0 {
			return false
		}
	}
	return s.head.version == 0
}
