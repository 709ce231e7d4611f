package lease

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// lead is what the leader knows and does, and what its deputy has seen of heartbeats. It is lost with the session.
type lead struct {
	call                    // the survey
	last   protocol.Instant // when it began
	hint   bool             // there may be more to see than what is being read
	holds  bool             // the lock is ours, as it was read
	term   uint64           // of the lock
	known  []string
	read   *facts      // by the last survey of this term
	since  []store.Doc // what was written since
	ahead  bool        // what is written tells of a removal before a survey, which is due then
	wrote  []string    // partitions that the pass after it has written, sorted
	beats  heartbeat.Observations
	writes []leadWrite
	show   call
	view   uint64         // number of the newest view that was written, or is to be
	seen   *cluster.Value // that was written as a view; nil: none
	rests  bool           // the last pass found nothing to do: the same documents need no other
	holdAt duty.Holds     // members that have announced a restart
	former
}

// leadWrite is a write of a pass.
type leadWrite struct {
	id     uint64 // 0: not begun
	doc    store.Doc
	remove bool
	window string // key of the document that lists the item that this makes; "" for others
}

// maxWrites bounds the writes of a pass that are under way at once.
const maxWrites = 64

func (l *lead) take(term uint64) {
	if !l.holds || l.term != term {
		*l = lead{holds: true, term: term, view: l.view, known: l.known, beats: l.beats}
	}
}

// leadOn makes passes over all documents, one after the other.
func (s *step) leadOn() {
	if !s.lead.holds || s.Is != member.PhaseMember {
		return
	}
	if len(s.lead.writes) > 0 {
		s.writeSome()
		return
	}
	if s.lead.due(s.At) && !s.lead.show.busy {
		s.lead.busy, s.lead.hint, s.lead.last = true, false, s.At
		keys := []string{keyBoard, keyConfig, keyLeader, keyNodes}
		for _, m := range s.look.members {
			keys = append(keys, m.Heartbeat)
		}
		keys = append(keys, s.lead.known...)
		slices.Sort(keys)
		s.Emit(Survey{Keys: slices.Compact(keys), known: s.lead.read, wrote: s.lead.wrote, moves: s.readByKey(),
			shares: s.lead.shares})
	}
}

// writeSome begins writes of the pass.
func (s *step) writeSome() {
	writes := slices.Clone(s.lead.writes)
	for i := range writes[:min(len(writes), maxWrites)] {
		if w := &writes[i]; w.id == 0 {
			w.id = s.id()
			s.Emit(Write{ID: w.id, Doc: w.doc, Delete: w.remove})
		}
	}
	s.lead.writes = writes
}

// leadWritten takes in the answer of a write of a pass. What was not done is found again by the next pass.
func (s *step) leadWritten(ev Written) bool {
	i := slices.IndexFunc(s.lead.writes, func(w leadWrite) bool { return w.id == ev.ID })
	if i < 0 {
		return false
	}
	w := s.lead.writes[i]
	s.lead.writes = slices.Delete(slices.Clone(s.lead.writes), i, i+1)
	if len(s.lead.writes) == 0 {
		s.lead.next = s.At.Add(max(s.Poll/4, s.pause(ev.Outcome != outbox.Done)))
		if s.lead.ahead {
			s.lead.next, s.lead.ahead = s.At, false
		}
	}
	if ev.Outcome == outbox.Done {
		w.doc.Version = ev.Version // none where it was removed
		if w.window != "" {
			s.lead.listed = append(slices.Clip(s.lead.listed), listing{w.doc.Key, ev.Version, w.window})
		}
		s.lead.since = append(slices.Clip(s.lead.since), w.doc)
		s.ownWritten(w.doc.Key)
	}
	return true
}

// surveyed judges sessions by what was read, and makes a pass where that is not what it was.
func (s *step) surveyed(ev Surveyed) {
	s.lead.call = call{next: s.At.Add(s.Poll)}
	if (s.lead.hint || s.moving()) && ev.Err == "" {
		s.lead.next = s.At.Add(s.Poll / 4)
	}
	s.Answered(ev.Err)
	if ev.Err != "" || !s.lead.holds || s.Is != member.PhaseMember {
		return
	}
	f := s.known.learn(ev.Docs)
	rests := s.lead.rests && f.same(s.known)
	f.assemble(s.known)
	s.known, s.lead.read, s.lead.since, s.lead.wrote = f, f, nil, nil
	for _, x := range f.docs {
		if x.err != nil {
			s.complain(x.err)
		}
	}
	l, err := read[leaderDoc](f.read(keyLeader))
	if s.Is != member.PhaseMember || err != nil || f.problem(keyNodes, keyConfig) != nil {
		return
	}
	if l.Holder != s.Session() || l.Term != s.lead.term {
		s.lead = lead{beats: s.lead.beats}
		return
	}
	s.look.index, s.look.members = f.nodes.Index, f.members
	s.judge(f, ev.Sent)
	if late := s.lateMembers(); !rests || late != nil {
		s.pass(f, late, ev.Old)
	}
}

// pass writes what differs between the documents and what follows from them. What is free is not for those first who
// are late.
func (s *step) pass(f *facts, late []cluster.MemberID, old []cluster.JobID) {
	p := newPass(f, s.wallMS, s.writeName(), s.lead.former, old...)
	p.late = late
	if s.lead.former = (former{listed: p.making, shares: p.layouts}); len(p.layouts) > 0 {
		s.lead.laid = p.name
	}
	s.lead.known = p.keys()
	s.lead.writes = append(slices.Clip(s.lead.writes), p.writes()...)
	s.lead.ahead = s.lead.ahead || slices.ContainsFunc(s.lead.writes, func(w leadWrite) bool { return w.window != "" })
	s.lead.wrote = nil
	for _, w := range s.lead.writes {
		if strings.HasPrefix(w.doc.Key, partitionPrefix) {
			s.lead.wrote = append(s.lead.wrote, w.doc.Key)
		}
	}
	slices.Sort(s.lead.wrote)
	s.value = p.after
	s.publish(f, p)
	s.lead.rests = len(s.lead.writes) == 0 && !s.lead.show.busy && old == nil && p.making == nil
}

// judge fences sessions that are silent, and takes members out whose session is fenced or gone. Only then are their
// partitions free.
func (s *step) judge(f *facts, sent protocol.Instant) {
	beats := make(heartbeat.Observations, 0, len(f.members))
	for _, m := range f.members {
		d, ok := f.doc(m.Heartbeat)
		if !ok || m.ID == s.Member || m.State == cluster.MemberHeld {
			continue
		}
		was := s.lead.beats.Of(m.Heartbeat)
		n, isNode := d.says.(*nodeFact)
		if !isNode { // there is none
			n = &nodeFact{}
		}
		o := was.Read(d.Version, n.ttl, sent, s.At)
		beats = beats.With(o)
		s.lead.next = min(s.lead.next, s.silent(o))
		switch {
		case n.err != nil:
		case d.Version == "":
			s.removeMember(m, o.Reason("its session has ended", s.Silence(o)), "")
		case n.doc.State == heartbeat.Fenced:
			s.removeMember(m, was.Reason("its session has ended", s.Silence(o)), "")
		case s.Dead(o):
			s.lead.writes = append(slices.Clip(s.lead.writes), s.fenced(d.Doc, n.doc))
		}
	}
	s.lead.beats = beats
	var over []cluster.Command
	over, s.lead.holdAt = s.lead.holdAt.Release(slices.Values(f.members), s.At, s.Hold)
	for _, c := range over {
		if h, ok := c.(cluster.ReleaseHold); ok && !s.tryingTo(h.Member) {
			s.try(h)
		}
	}
}

// removeMember takes a member out whose session has ended. Proved is its heartbeat, if a fence of ours was
// acknowledged.
func (s *step) removeMember(m cluster.Member, reason, proved string) {
	if !s.tryingTo(m.ID) {
		c := cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: reason}
		a := attempt{command: c, also: []string{m.Heartbeat}, proved: proved}
		s.tries = append(slices.Clip(s.tries), try{attempt: a})
	}
}

// tryingTo tells whether a member is being taken out.
func (s *step) tryingTo(id cluster.MemberID) bool {
	return slices.ContainsFunc(s.tries, func(t try) bool { return takesOut(t.command) == id })
}

// publish shows the value, and then what the board says of it.
func (s *step) publish(f *facts, p *pass) {
	b, err := read[boardDoc](f.read(keyBoard))
	if err != nil {
		return
	}
	s.lead.view = max(s.lead.view, b.View)
	if shown := s.lead.seen; shown == nil || shown.Index() != s.value.Index() || shown.Digest() != s.value.Digest() {
		s.lead.view++
		now := s.value
		s.lead.show.busy, s.lead.seen = true, &now
		s.Emit(member.Applying{Value: s.value})
		s.Emit(Show{View: s.lead.view, Value: s.value})
	}
	s.tellAll(f, p, b)
}

// tellAhead tells what is free by the Node List that a removal has written, before a survey: the board decides nothing.
func (s *step) tellAhead(t try) {
	if !s.lead.holds || s.lead.read == nil || !t.result.Accepted || t.put.Key != keyNodes {
		return
	}
	docs := make([]store.Doc, 0, len(s.lead.read.docs))
	for _, x := range s.lead.read.docs {
		docs = append(docs, x.Doc)
	}
	f := s.known.learn(append(append(docs, s.lead.since...), t.put))
	if b, err := read[boardDoc](f.read(keyBoard)); err == nil {
		s.lead.ahead = true
		p := newPass(f, s.wallMS, s.writeName(), former{})
		p.late = s.lateMembers()
		s.tellAll(f, p, b)
	}
}

// tellAll lets the board say what a pass has found, if it does not.
func (s *step) tellAll(f *facts, p *pass, b boardDoc) {
	next := p.board()
	next.Term, next.View, next.Write = s.lead.term, b.View, b.Write
	if !s.lead.show.busy {
		next.View = s.lead.view
	}
	if !sameBoard(next, b) {
		next.Write = s.writeName()
		s.lead.writes = append(slices.Clip(s.lead.writes), leadWrite{doc: f.over(keyBoard, next)})
	}
}

func sameBoard(a, b boardDoc) bool {
	return a.Term == b.Term && a.Index == b.Index && a.Specs == b.Specs && a.View == b.View &&
		slices.Equal(a.Free, b.Free) && slices.Equal(a.Stop, b.Stop)
}

// shown lets the board tell of the view. One that was not written gets another number, above all that others have
// written: boards may not tell of them.
func (s *step) shown(ev Shown) {
	s.Wrote(ev.Err, ev.Err == "")
	s.lead.show.busy = false
	s.lead.view = max(s.lead.view, ev.Newest)
	switch {
	case ev.Outcome != outbox.Done:
		s.lead.seen = nil
	case ev.View == s.lead.view:
		s.lead.next = s.At // the board has yet to tell
	}
}
