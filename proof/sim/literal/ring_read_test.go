package literal

import "fmt"

// read is what a peer does when it applies the next entry: the side effects and reactions of the command reference. It returns the peer as it is
// then, and what it did in words.
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
