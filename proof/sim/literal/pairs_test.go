package literal

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Scenario is a small cluster of the document's ring, what may happen to it, and how often.
type Scenario struct {
	Name  string
	Title string // what happens, as a sentence
	Flaw  string // what in the document's text lets it happen
	Shows string // the promise whose break tells it best; "" for the first

	members, joiners peerSet
	crash            peerSet // who may die
	together         bool    // they die at once, or not at all; otherwise one of them dies
	expire           peer    // whose session may expire though it lives, once
	lost             int     // how many appends may have their reply lost

	// How the document is read where it can be read in two ways.
	noLook  bool  // a watch that is set on a heartbeat that is gone waits for its creation, as ZooKeeper's exists watch does
	eager   bool  // a joiner reports a death that it sees; otherwise that is buffered until it is in
	firstID uint8 // message id of the last command before the start; it chooses the joiner's target
}

// Scenarios are those in which the document's ring breaks.
func Scenarios() []Scenario {
	ab, abc := setOf(peerA, peerB), setOf(peerA, peerB, peerC)
	j, jk := setOf(peerJ), setOf(peerJ, peerK)
	return []Scenario{
		{
			Name: "two-joiners", Title: "Two join at once; nothing fails",
			Flaw: "`notify-watchers` moves the first joiner out of `:prepare`, so its target can be chosen again before `accept-join-cluster`; " +
				"the second joiner's watcher is computed from pairs that are about to change. A still watches the first joiner, but by the pairs nobody does: whoever takes over from A will not.",
			members: ab, joiners: jk,
		},
		{
			Name: "prepared-dies", Title: "A prepared peer dies and nobody watches it",
			Flaw:    "Who is prepared is watched by nobody until `notify-watchers` is read, and `peer-gc` looks at joined peers alone. The attempt, and the target that it excludes, stay for ever.",
			members: setOf(peerA), joiners: jk, crash: j,
		},
		{
			Name: "watcher-dies", Title: "The watcher dies between notify and accept",
			Flaw:    "One named peer has to answer. When it dies, no rule passes its duty on, and the joiner buffers for ever.",
			members: abc, joiners: j, crash: setOf(peerA), firstID: 5,
		},
		{
			Name: "target-dies", Title: "The target dies while the joiner waits",
			Flaw:    "`accept-join-cluster` merges a pair whose target has left since. The pairs lead to a peer that is gone, and its successor is in nobody's.",
			members: abc, joiners: j, crash: setOf(peerB), firstID: 5,
		},
		{
			Name: "retried-append", Title: "The reply to an append is lost, and it is sent again",
			Flaw:    "Nothing tells the second entry from the first: it is applied again, and with another message id it chooses another target.",
			members: abc, joiners: j, lost: 1, firstID: 5,
		},
		{
			Name: "two-neighbours", Title: "Two neighbours die at once",
			Flaw:    "“P adds a ZooKeeper watch to R's heartbeat node”: a watch on a node that is already gone waits for its creation. No rule looks at all heartbeats while anybody lives.",
			members: setOf(peerA, peerB, peerC, peerD), crash: setOf(peerB, peerC), together: true, noLook: true,
		},
		{
			Name: "two-neighbours-and-joiner", Title: "Two neighbours die while one joins",
			Flaw: "Here a watch on a heartbeat that is gone does fire, and a joiner reports what it sees. It still breaks: the watcher has moved its watch to the joiner, " +
				"whose target is removed before it is accepted.",
			members: abc, joiners: j, crash: setOf(peerB, peerC), together: true, eager: true, firstID: 5,
			Shows: promiseWatched,
		},
		{
			Name: "evicted-answers", Title: "A peer that was evicted, and lives, answers",
			Flaw:    "`accept-join-cluster` does not ask whether its sender is still in the cluster. The joiner is watched by one that is not.",
			members: abc, joiners: j, expire: peerA, firstID: 5, Shows: promiseWatched,
		},
	}
}

// peer is one process of a ring model; nobody is none.
type peer uint8

// The peers: four that may stand in the ring at the start, and two that may join it. Their order is the order of their
// names.
const (
	nobody peer = iota
	peerA
	peerB
	peerC
	peerD
	peerJ
	peerK
	peers // one more than the last
)

// String is the name of the peer, one letter.
func (p peer) String() string { return "-ABCDJK"[p : p+1] }

// peerSet is a set of peers, a bit for each.
type peerSet uint8

const everybody = peerSet(1<<peers - 1<<peerA)

// those are the peers that suit.
func those(suits func(peer) bool) (s peerSet) {
	for p := range everybody.each {
		if suits(p) {
			s = s.with(p)
		}
	}
	return s
}

func setOf(list ...peer) peerSet {
	var s peerSet
	for _, p := range list {
		s |= 1 << p
	}
	return s
}

func (s peerSet) has(p peer) bool        { return s&(1<<p) != 0 }
func (s peerSet) with(p peer) peerSet    { return s | setOf(p)&^1 }
func (s peerSet) without(p peer) peerSet { return s &^ (1 << p) }
func (s peerSet) count() int             { return bits.OnesCount8(uint8(s)) }
func (s peerSet) each(yield func(peer) bool) { // in the order of the names
	for p := peerA; p < peers; p++ {
		if s.has(p) && !yield(p) {
			return
		}
	}
}

// String lists the names: "A, B".
func (s peerSet) String() string {
	var names []string
	for p := range s.each {
		names = append(names, p.String())
	}
	return strings.Join(names, ", ")
}

// kind is one of the commands of the document that concern the ring.
type kind uint8

const (
	peerGC kind = iota
	prepareJoin
	abortJoin
	notifyWatchers
	acceptJoin
	leaveCluster
)

// command is one entry of the log, with the arguments that the command reference gives it.
type command struct {
	kind    kind
	about   peer // who joins, or leaves
	watcher peer // of notify and accept: T in the pair {T P}
	target  peer // of accept: Q in the pair {P Q}
}

// String writes the command as the document does.
func (c command) String() string {
	switch c.kind {
	case notifyWatchers:
		return fmt.Sprintf("notify-watchers{%v→%v}", c.watcher, c.about)
	case acceptJoin:
		return fmt.Sprintf("accept-join{%v→%v, %v→%v}", c.watcher, c.about, c.about, c.target)
	}
	return fmt.Sprintf("%s(%v)", [...]string{"peer-gc", "prepare-join", "abort-join", "", "", "leave-cluster"}[c.kind],
		c.about)
}

// remainders is a multiple of every count of candidates: the message id matters only modulo those.
const remainders = 60

// pairs is the part of the document's replica that concerns the ring. The arrays are its maps: nobody stands for "not
// there".
type pairs struct {
	pairs    [peers]peer // :pairs, whom each member watches
	prepared [peers]peer // :prepare, whom a joiner is going to watch
	accepted [peers]peer // :accept, the same after notify-watchers
	notified [peers]peer // who was told by notify-watchers to watch the joiner
	alone    peer        // X: the single member, paired with no one
	id       uint8       // message id of the last command, modulo remainders
}

// inRing is a replica whose members form a ring in the order of their names.
func inRing(members peerSet) pairs {
	var r pairs
	list := slices.Collect(members.each)
	if len(list) == 1 {
		r.alone = list[0]
		return r
	}
	for i, p := range list {
		r.pairs[p] = list[(i+1)%len(list)]
	}
	return r
}

// members are the fully joined peers: A and X of the document.
func (r *pairs) members() peerSet {
	return those(func(p peer) bool { return r.pairs[p] != nobody || r.alone == p })
}

// everyone is members, prepared and accepted ones.
func (r *pairs) everyone() peerSet {
	return r.members() | those(func(p peer) bool { return r.prepared[p] != nobody || r.accepted[p] != nobody })
}

// candidates are the document's V: members on whom no prepared peer depends, sorted.
func (r *pairs) candidates() []peer {
	free := r.members()
	for _, target := range r.prepared {
		free = free.without(target)
	}
	return slices.Collect(free.each)
}

// watcherOf is the document's W, the node that depends on the target. A single member is told itself: the document
// would tell nobody.
func (r *pairs) watcherOf(target peer) peer {
	if p := slices.Index(r.pairs[:], target); target != nobody && p > 0 {
		return peer(p) //nolint:gosec // a small number
	}
	if r.alone == target {
		return target
	}
	return nobody
}

// apply is the document's replica update of one command. It says whether the command did anything.
func (r *pairs) apply(c command) bool {
	r.id = (r.id + 1) % remainders
	before := *r
	switch c.kind {
	case peerGC:
	case prepareJoin:
		r.prepare(c.about)
	case abortJoin:
		r.prepared[c.about], r.accepted[c.about] = nobody, nobody
	case notifyWatchers:
		if target := r.prepared[c.about]; target != nobody {
			r.accepted[c.about], r.notified[c.about], r.prepared[c.about] = target, c.watcher, nobody
		}
	case acceptJoin:
		r.accept(c)
	case leaveCluster:
		r.leave(c.about)
	}
	return *r != before
}

func (r *pairs) prepare(p peer) {
	v := r.candidates()
	switch {
	case r.members() == 0:
		r.alone = p
	case len(v) > 0:
		r.prepared[p] = v[int(r.id)%len(v)]
	}
}

// accept does nothing for one who does not wait for it, which is kinder than the document.
func (r *pairs) accept(c command) {
	if r.accepted[c.about] == nobody {
		return
	}
	r.accepted[c.about], r.notified[c.about] = nobody, nobody
	r.pairs[c.about], r.pairs[c.watcher] = c.target, c.about
	if r.alone == c.watcher || r.alone == c.target {
		r.alone = nobody
	}
}

// leave removes a peer "from all activity" and closes the ring.
func (r *pairs) leave(q peer) {
	r.prepared[q], r.accepted[q], r.notified[q] = nobody, nobody, nobody
	next := r.pairs[q]
	if r.alone == q {
		r.alone = nobody
	}
	if next == nobody {
		return
	}
	r.pairs[q] = nobody
	for p := range everybody.each {
		if r.pairs[p] != q {
			continue
		}
		r.pairs[p] = next
		if p == next {
			r.pairs[p], r.alone = nobody, p
		}
	}
}

// oneRing says whether the pairs are one cycle through all members.
func (r *pairs) oneRing() bool {
	all := r.members()
	if all.count() < 2 {
		return true
	}
	var first peer
	for first = range all.each {
		break
	}
	seen, at := peerSet(0), first
	for !seen.has(at) && at != nobody {
		seen, at = seen.with(at), r.pairs[at]
	}
	return at == first && seen == all
}

// String shows the pairs: "A→B B→A, prepared J→A".
func (r *pairs) String() string {
	var parts []string
	if r.alone != nobody {
		parts = append(parts, r.alone.String()+" alone")
	}
	parts = arrows(parts, "", r.pairs)
	parts = arrows(parts, "prepared ", r.prepared)
	return strings.Join(arrows(parts, "accepted ", r.accepted), ", ")
}

func arrows(parts []string, what string, m [peers]peer) []string {
	for p := range everybody.each {
		if m[p] != nobody {
			parts = append(parts, fmt.Sprintf("%s%v→%v", what, p, m[p]))
		}
	}
	return parts
}
