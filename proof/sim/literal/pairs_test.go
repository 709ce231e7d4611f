package literal

import (
	"fmt"
	"strings"
)

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
	case peerGC:
		return fmt.Sprintf("peer-gc(%v)", c.about)
	case prepareJoin:
		return fmt.Sprintf("prepare-join(%v)", c.about)
	case abortJoin:
		return fmt.Sprintf("abort-join(%v)", c.about)
	case notifyWatchers:
		return fmt.Sprintf("notify-watchers{%v→%v}", c.watcher, c.about)
	case acceptJoin:
		return fmt.Sprintf("accept-join{%v→%v, %v→%v}", c.watcher, c.about, c.about, c.target)
	}
	return fmt.Sprintf("leave-cluster(%v)", c.about)
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
	var list []peer
	for p := range members.each {
		list = append(list, p)
	}
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
	var s peerSet
	for p := peerA; p < peers; p++ {
		if r.pairs[p] != nobody || r.alone == p {
			s = s.with(p)
		}
	}
	return s
}

// everyone is members, prepared and accepted ones.
func (r *pairs) everyone() peerSet {
	s := r.members()
	for p := peerA; p < peers; p++ {
		if r.prepared[p] != nobody || r.accepted[p] != nobody {
			s = s.with(p)
		}
	}
	return s
}

// candidates are the document's V: members on whom no prepared peer depends, sorted.
func (r *pairs) candidates() []peer {
	free := r.members()
	for _, target := range r.prepared {
		free = free.without(target)
	}
	var list []peer
	for p := range free.each {
		list = append(list, p)
	}
	return list
}

// watcherOf is the document's W, the node that depends on the target. A single member is told itself: the document
// would tell nobody.
func (r *pairs) watcherOf(target peer) peer {
	for p := peerA; p < peers; p++ {
		if r.pairs[p] == target {
			return p
		}
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
	for p := peerA; p < peers; p++ {
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
	for p := peerA; p < peers; p++ {
		if m[p] != nobody {
			parts = append(parts, fmt.Sprintf("%s%v→%v", what, p, m[p]))
		}
	}
	return parts
}
