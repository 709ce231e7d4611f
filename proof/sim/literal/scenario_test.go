package literal

import (
	"math/bits"
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
