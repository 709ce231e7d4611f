package literal

import (
	"math/bits"
	"strings"
)

// peer is one process of a ring model; nobody is none.
type peer uint8

// The peers: four that may stand in the ring at the start, and two that may join it. Their order is the order of their names.
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
