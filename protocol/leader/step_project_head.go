package leader

import (
	"slices"

	"github.com/rota-run/rota/cluster"
)

// projectHeads tells members that something has changed for them.
func (s *step) projectHeads() {
	s.rule.heads.Each(func(k string, h headAt) bool {
		id := cluster.MemberID(k)
		if !h.stale && len(h.pending) == 0 || s.isBusy(headKey(id)) || len(h.pending) < maxPending && !s.clean(id) {
			return true
		}
		if next, ok := s.projectHead(id, h); ok {
			s.rule.heads.set(k, next)
		} else {
			s.rule.heads.remove(k)
		}
		return len(s.busy) < 2*writesAtOnce
	})
}

// clean reports whether all assignments of a member are written.
func (s *step) clean(m cluster.MemberID) bool {
	clean := true
	s.rule.dirty.below(inOrder(folder(m)), func(string, target) bool {
		clean = false
		return false
	})
	return clean
}

// maxPending is how many changes are told of at the latest, maxChanges how many are kept for those that are behind.
const (
	maxPending = 64
	maxChanges = 256
)

// projectHead writes the head of a member; false where there is none to be kept.
func (s *step) projectHead(id cluster.MemberID, h headAt) (headAt, bool) {
	key := headKey(id)
	m, in := s.fold.Value.Member(id)
	switch {
	case h.unsure:
		s.get(key)
		return h, true
	case (!in || m.State == cluster.MemberHeld) && h.version == "":
		return h, false
	case !in || m.State == cluster.MemberHeld:
		if s.drop(key, h.version) {
			h.unsure = true
		}
		return h, true
	}
	want := h.headDoc
	want.Format, want.Member, want.Incarnation, want.Heartbeat, want.State = docFormat, id, m.Incarnation, m.Heartbeat, m.State.String()
	want.Revoked, want.Term, want.Index, want.Tasks = m.Revoked, s.rule.term, s.fold.Value.Index(), s.inFolder(id)
	if m.Draining {
		want.State = "draining"
	}
	want.Seq = max(h.Seq+1, HeadSeq(s.fold.Value.Index()))
	want.Changes = slices.Clone(h.Changes)
	for _, p := range h.pending { // a member that missed the former change of a task reads it after this one
		want.Changes = slices.DeleteFunc(want.Changes, func(c changeDoc) bool { return c.Task == p })
		want.Changes = append(want.Changes, changeDoc{p, want.Seq})
	}
	if n := len(want.Changes) - maxChanges; n > 0 {
		want.Since = want.Changes[n-1].Seq
		want.Changes = want.Changes[n:]
	}
	if !s.put(Put{Key: key, Doc: want, Version: h.version}) {
		return h, true
	}
	return headAt{headDoc: want, version: h.version, unsure: true}, true
}

// inFolder is how many assignments a member's folder has for certain.
func (s *step) inFolder(m cluster.MemberID) (n int) {
	s.rule.docs.below(folder(m), func(_ string, k known) bool {
		if k.version != "" && !k.unsure {
			n++
		}
		return true
	})
	return n
}

func (s *step) touchHead(m cluster.MemberID) {
	h, _ := s.rule.heads.Get(string(m))
	h.stale = true
	s.rule.heads.set(string(m), h)
}

// projectRoster writes who is in the cluster.
func (s *step) projectRoster() {
	at := &s.rule.roster
	if !at.known {
		s.get(rosterKey)
		return
	}
	if !at.stale || s.isBusy(rosterKey) {
		return
	}
	v := &s.fold.Value
	l, _ := v.Leader()
	want := rosterDoc{Format: docFormat, Term: l.Term, Index: v.Index(), Leader: l.Member, SinceMS: l.SinceMS, Settings: v.Settings()}
	for m := range v.Members() {
		want.Members = append(want.Members, peerOf(m))
	}
	if want.Term == at.Term && want.Settings == at.Settings && slices.EqualFunc(want.Members, at.Members, peerDoc.same) {
		at.stale = false
		return
	}
	if s.put(Put{Key: rosterKey, Doc: want, Version: at.version}) {
		at.rosterDoc, at.known, at.stale = want, false, true
	}
}
