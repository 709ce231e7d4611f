package leader

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// written takes in a document of ours as it is in the store.
func (s *step) written(d Doc) {
	if s.rule.at == ruleNone {
		return
	}
	s.noteTerm(d)
	switch {
	case d.Key == rosterKey:
		r, _ := d.Value.(rosterDoc)
		s.rule.roster = rosterAt{rosterDoc: r, version: d.Version, known: true, stale: true}
	case strings.HasPrefix(d.Key, headPrefix):
		s.headWritten(d)
	case strings.HasPrefix(d.Key, AssignPrefix):
		s.slotWritten(d)
	}
}

func (s *step) headWritten(d Doc) {
	id, _, _ := strings.Cut(strings.TrimPrefix(d.Key, headPrefix), "/")
	h, _ := d.Value.(headDoc)
	was, known := s.rule.heads.Get(id)
	if known && !was.unsure && was.version == d.Version {
		return // as we know it
	}
	if s.rule.at == ruleRuling && h.Seq != was.Seq || d.Bad != "" {
		h.Seq = max(h.Seq, was.Seq) + 1 // what we told is lost: the folder must be read
		h.Since, h.Changes = h.Seq, nil
	}
	s.rule.heads.set(id, headAt{headDoc: h, version: d.Version, stale: true, pending: was.pending})
}

func (s *step) slotWritten(d Doc) {
	slot, ok := d.Value.(slotDoc)
	was, _ := s.rule.docs.Get(d.Key)
	same := was.version == d.Version
	if same && !was.unsure {
		return // as we know it
	}
	if d.Version == "" {
		s.rule.docs.remove(d.Key)
	} else {
		k := known{version: d.Version}
		if ok {
			k.stamp, k.target, k.index = slot.stamp(), target{slot.Member, slot.Task}, slot.Index
		}
		s.rule.docs.set(d.Key, k)
	}
	for _, t := range [...]target{was.target, {slot.Member, slot.Task}} { // it may be gone, or be something else now
		if t.task != "" {
			s.markDirty(t)
		}
	}
	if s.rule.at == ruleRuling && !same {
		s.tell(d.Key) // somebody else may have written it, and told nobody
	}
}

// projected takes in that a document was written, or was not.
func (s *step) projected(ev Wrote) {
	if s.rule.at == ruleNone {
		return
	}
	done := ev.Err == ""
	switch {
	case ev.Key == rosterKey:
		if s.rule.roster.known = done; done {
			s.rule.roster.version = ev.Version
			s.roster.rosterDoc, s.roster.known = s.rule.roster.rosterDoc, true
		}
	case strings.HasPrefix(ev.Key, headPrefix):
		s.headProjected(ev)
	case strings.HasPrefix(ev.Key, AssignPrefix):
		s.slotProjected(ev)
	case strings.HasPrefix(ev.Key, planPrefix):
		s.rule.plans.hint = true
	}
}

func (s *step) headProjected(ev Wrote) {
	id, _, _ := strings.Cut(strings.TrimPrefix(ev.Key, headPrefix), "/")
	h, ok := s.rule.heads.Get(id)
	switch {
	case !ok:
	case ev.Err != "":
		h.stale = true
		s.rule.heads.set(id, h)
	case ev.Version == "":
		s.rule.heads.remove(id)
	default:
		h.version, h.unsure = ev.Version, false
		s.rule.heads.set(id, h)
		s.rule.boxes.look = s.expect(s.rule.boxes.look, answeredIn*s.Poll)
		s.head.hint = s.head.hint || !s.p.Hints && id == string(s.Member)
	}
}

// slotProjected takes in the outcome of one assignment. What was done is told to the member by its head.
func (s *step) slotProjected(ev Wrote) {
	k, ok := s.rule.docs.Get(ev.Key)
	if ev.Err != "" {
		k.unsure = true
		s.rule.docs.set(ev.Key, k)
		return
	}
	if ev.Version == "" {
		s.rule.docs.remove(ev.Key)
	} else if ok {
		k.version, k.unsure = ev.Version, false
		s.rule.docs.set(ev.Key, k)
	}
	s.tell(ev.Key)
}

// tell notes that a member is to be told of an assignment that was written.
func (s *step) tell(key string) {
	if t, ok := s.rule.dirty.Get(inOrder(key)); ok {
		h, _ := s.rule.heads.Get(string(t.member))
		s.tellOf(h, t)
	}
}

func (s *step) tellOf(h headAt, t target) {
	h.pending = append(slices.Clip(h.pending), t.task)
	s.rule.heads.set(string(t.member), h)
}

// recheck reads the document that a member seems to have read: it may be one that nobody should have written.
func (s *step) recheck(m cluster.MemberID, say saying) {
	key := slotKey(m, say.Task)
	if k, ok := s.rule.docs.Get(key); !ok || k.stamp.token != say.Token {
		k.unsure = true
		s.rule.docs.set(key, k)
	}
}

// compare marks all that a former leader may have left undone.
func (s *step) compare() {
	now := &s.fold.Value
	for p := range now.Partitions() {
		s.touch(p)
		if p.Offered {
			s.offer(p)
		}
	}
	for m := range now.Members() {
		s.touchHead(m.ID)
	}
	s.rule.docs.Each(func(_ string, k known) bool {
		if h, ok := s.rule.heads.Get(string(k.member)); ok && k.index > h.Index { // the former leader may have told nobody
			s.tellOf(h, k.target)
		}
		return true
	})
	s.rule.roster.stale = true
}
