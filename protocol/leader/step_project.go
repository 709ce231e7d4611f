package leader

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// target is one assignment.
type target struct {
	member cluster.MemberID
	task   cluster.PartitionID
}

// known is an assignment as it is in the store: its version, and what tells whether it is as it should be.
type known struct {
	version store.Version
	print   print
	unsure  bool // a write is under way, its outcome is unknown, or it conflicted: read it
	target
	index cluster.Index // that it names
}

type print struct {
	state   SlotState
	token   cluster.Token
	attempt int64
	since   cluster.Index
	share   int64
	shares  int64
}

func (d Slot) print() print { return print{d.State, d.Token, d.Attempt, d.Since, d.Share, d.Shares} }

// headAt is the head of a member as it is in the store, and what is to be said next.
type headAt struct {
	Head
	version store.Version
	unsure  bool
	stale   bool
	pending []cluster.PartitionID // assignments that were written since
}

// rosterAt is the roster as it is in the store.
type rosterAt struct {
	Roster
	version store.Version
	known   bool
	stale   bool
}

// writesAtOnce is how many documents are written at a time.
const writesAtOnce = 64

// project brings the documents in line with the value.
func (s *step) project() {
	s.projectSlots()
	s.projectHeads()
	s.projectRoster()
	s.answerPlans()
}

func (s *step) projectSlots() {
	var done []string
	s.rule.dirty.each(func(k string, t target) bool {
		if s.projectSlot(t) {
			done = append(done, k)
		}
		return len(s.busy) < writesAtOnce
	})
	for _, k := range done {
		s.rule.dirty.remove(k)
	}
}

// projectSlot writes one assignment, and reports whether it is as it should be. A new one begins as an offer, whatever the value says: so a late write of
// a former leader, to a document that has been removed since, starts nothing.
func (s *step) projectSlot(t target) bool {
	key := SlotKey(t.member, t.task)
	have, there := s.rule.docs.get(key)
	want, ok := s.slotOf(t)
	switch {
	case s.isBusy(key):
		return false
	case have.unsure:
		s.get(key)
	case !ok && !there:
		return true
	case !ok:
		s.drop(key, have.version)
	case there && have.print == want.print():
		return true
	default:
		if !there {
			want.State = Acking
		}
		if s.put(Put{Key: key, Doc: want, Version: have.version}) {
			s.rule.docs.set(key, known{version: have.version, print: want.print(), unsure: true, target: t, index: want.Index})
		}
	}
	return false
}

// slotOf is the assignment of a task to a member, as the value has it.
func (s *step) slotOf(t target) (Slot, bool) {
	v := s.fold.value
	p, ok := v.Partition(t.task)
	if !ok {
		return Slot{}, false
	}
	state, token := stateOf(v, t.member, p)
	if m, in := v.Member(t.member); !in || m.State == cluster.MemberHeld || !state.assigned() {
		return Slot{}, false
	}
	d := Slot{
		Format: Format, Member: t.member, Task: p.ID, State: state, Token: token, Attempt: p.Attempts, Index: v.Index(), Term: s.rule.term,
		Parents: p.Parents, Listed: p.ListedBy, Input: p.Input, Share: p.Index, Shares: p.Count, Number: p.Slot, From: p.From, Cause: p.Cause,
		Spec: &cluster.TaskSpec{Type: "gone"}, // its job has ended, and it has yet to stop
	}
	if l, _ := v.Leader(); state == Acking {
		d.OfferMS = l.OfferMS
	}
	if state == Taking {
		d.From = p.Owner
	}
	id, task, _ := p.ID.Split()
	if j, ok := v.Job(id); ok {
		if spec, ok := j.Task(task); ok {
			d.Spec, d.Since, d.Source = spec, j.SpecIndex, j.Spec.Source
		}
	}
	return d, true
}

// projectHeads tells members that something has changed for them.
func (s *step) projectHeads() {
	var gone []string
	next := make(map[string]headAt)
	s.rule.heads.each(func(k string, h headAt) bool {
		if !h.stale && len(h.pending) == 0 || s.isBusy(HeadKey(cluster.MemberID(k))) {
			return true
		}
		if len(h.pending) < maxPending && !s.clean(cluster.MemberID(k)) {
			return true
		}
		if n, ok := s.projectHead(cluster.MemberID(k), h); ok {
			next[k] = n
		} else if h.version == "" {
			gone = append(gone, k)
		}
		return len(s.busy) < 2*writesAtOnce
	})
	for _, k := range gone {
		s.rule.heads.remove(k)
	}
	for k, h := range next { // order-free: each is set in its own place
		s.rule.heads.set(k, h)
	}
}

// maxPending is how many changes are told of at the latest, maxChanges how many are kept for those that are behind.
const (
	maxPending = 64
	maxChanges = 256
)

// projectHead writes the head of a member; false where there is none to be kept.
func (s *step) projectHead(id cluster.MemberID, h headAt) (headAt, bool) {
	key := HeadKey(id)
	m, in := s.fold.value.Member(id)
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
	want := h.Head
	want.Format, want.Member, want.Incarnation, want.Pulse, want.State = Format, id, m.Incarnation, m.Pulse, m.State.String()
	want.Revoked, want.Term, want.Index = m.Revoked, s.rule.term, s.fold.value.Index()
	if m.Draining {
		want.State = "draining"
	}
	want.Seq = max(h.Seq+1, uint64(s.fold.value.Index()))
	want.Changes = slices.Clone(h.Changes)
	for _, p := range h.pending {
		want.Changes = append(want.Changes, Change{p, want.Seq})
	}
	if n := len(want.Changes) - maxChanges; n > 0 {
		want.Since = want.Changes[n-1].Seq
		want.Changes = want.Changes[n:]
	}
	if !s.put(Put{Key: key, Doc: want, Version: h.version}) {
		return h, true
	}
	return headAt{Head: want, version: h.version, unsure: true}, true
}

func (s *step) touchHead(m cluster.MemberID) {
	h, _ := s.rule.heads.get(string(m))
	h.stale = true
	s.rule.heads.set(string(m), h)
}

// projectRoster writes who is in the cluster.
func (s *step) projectRoster() {
	at := &s.rule.roster
	if !at.known {
		s.get(RosterKey)
		return
	}
	if !at.stale || s.isBusy(RosterKey) {
		return
	}
	v := s.fold.value
	l, _ := v.Leader()
	want := Roster{Format: Format, Term: l.Term, Index: v.Index(), Leader: l.Member, SinceMS: l.SinceMS, Settings: v.Settings()}
	for m := range v.Members() {
		want.Members = append(want.Members, peerOf(m))
	}
	if want.Term == at.Term && want.Settings == at.Settings && slices.EqualFunc(want.Members, at.Members, Peer.same) {
		at.stale = false
		return
	}
	if s.put(Put{Key: RosterKey, Doc: want, Version: at.version}) {
		at.Roster, at.known, at.stale = want, false, true
	}
}

// written takes in a document of ours as it is in the store.
func (s *step) written(d Doc) {
	if s.rule.at == ruleNone {
		return
	}
	switch {
	case d.Key == RosterKey:
		r, _ := d.Value.(Roster)
		s.rule.roster = rosterAt{Roster: r, version: d.Version, known: true, stale: true}
	case strings.HasPrefix(d.Key, headPrefix):
		s.headWritten(d)
	case strings.HasPrefix(d.Key, AssignPrefix):
		s.slotWritten(d)
	}
}

func (s *step) headWritten(d Doc) {
	id, _, _ := strings.Cut(strings.TrimPrefix(d.Key, headPrefix), "/")
	h, _ := d.Value.(Head)
	was, known := s.rule.heads.get(id)
	if known && !was.unsure && was.version == d.Version {
		return // as we know it
	}
	if s.rule.at == ruleRuling && h.Seq != was.Seq || d.Bad != "" {
		h.Seq = max(h.Seq, was.Seq) + 1 // what we told is lost: the folder must be read
		h.Since, h.Changes = h.Seq, nil
	}
	s.rule.heads.set(id, headAt{Head: h, version: d.Version, stale: true, pending: was.pending})
}

func (s *step) slotWritten(d Doc) {
	if HeadKey("") == d.Key {
		return
	}
	slot, ok := d.Value.(Slot)
	was, _ := s.rule.docs.get(d.Key)
	if !was.unsure && was.version == d.Version {
		return // as we know it
	}
	if d.Version == "" {
		s.rule.docs.remove(d.Key)
	} else {
		k := known{version: d.Version}
		if ok {
			k.print, k.target, k.index = slot.print(), target{slot.Member, slot.Task}, slot.Index
		}
		s.rule.docs.set(d.Key, k)
	}
	if ok {
		s.rule.dirty.set(string(slot.Member)+"\x00"+string(slot.Task), target{slot.Member, slot.Task})
	}
	if s.rule.at == ruleRuling {
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
	case ev.Key == RosterKey:
		if s.rule.roster.known = done; done {
			s.rule.roster.version = ev.Version
			s.roster.Roster, s.roster.known = s.rule.roster.Roster, true
		}
	case strings.HasPrefix(ev.Key, headPrefix):
		s.headProjected(ev)
	case strings.HasPrefix(ev.Key, AssignPrefix):
		s.slotProjected(ev)
	case strings.HasPrefix(ev.Key, PlanPrefix):
		s.rule.plans.hint = true
	}
}

func (s *step) headProjected(ev Wrote) {
	id, _, _ := strings.Cut(strings.TrimPrefix(ev.Key, headPrefix), "/")
	h, ok := s.rule.heads.get(id)
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
	}
}

// slotProjected takes in the outcome of one assignment. What was done is told to the member by its head.
func (s *step) slotProjected(ev Wrote) {
	k, ok := s.rule.docs.get(ev.Key)
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
	rest := strings.TrimPrefix(key, AssignPrefix)
	id, _, _ := strings.Cut(rest, "/")
	s.rule.dirty.from(id+"\x00", func(at string, t target) bool {
		if !strings.HasPrefix(at, id+"\x00") {
			return false
		}
		if SlotKey(t.member, t.task) != key {
			return true
		}
		h, _ := s.rule.heads.get(id)
		h.pending = append(h.pending[:len(h.pending):len(h.pending)], t.task)
		s.rule.heads.set(id, h)
		return false
	})
}

// recheck reads the document that a member seems to have read: it may be one that nobody should have written.
func (s *step) recheck(m cluster.MemberID, say Saying) {
	key := SlotKey(m, say.Task)
	if k, ok := s.rule.docs.get(key); !ok || k.print.token != say.Token {
		k.unsure = true
		s.rule.docs.set(key, k)
	}
}

// compare marks all that a former leader may have left undone.
func (s *step) compare() {
	now := s.fold.value
	for p := range now.Partitions() {
		s.touch(p)
		if p.Offered {
			s.rule.offers = append(s.rule.offers, offered{p.ID, p.Token, s.now})
		}
	}
	for m := range now.Members() {
		s.touchHead(m.ID)
	}
	s.rule.docs.each(func(_ string, k known) bool {
		if h, ok := s.rule.heads.get(string(k.member)); ok && k.index > h.Index { // the former leader may have told nobody
			h.pending = append(h.pending[:len(h.pending):len(h.pending)], k.task)
			s.rule.heads.set(string(k.member), h)
		}
		return true
	})
	s.rule.roster.stale = true
}

// assignsListed takes in all assignments that are there.
func (s *step) assignsListed(docs []Doc) {
	s.noteListed(AssignPrefix)
	for _, d := range docs {
		s.slotWritten(d)
	}
}

func (s *step) headsListed(docs []Doc) {
	s.noteListed(headPrefix)
	for _, d := range docs {
		s.headWritten(d)
	}
}

// keepAnswered is how long an answer is left to who asked, in TTLs.
const keepAnswered = 20

// answerPlans answers the requests that were taken, and removes what nobody has collected.
func (s *step) answerPlans() {
	for i := range s.rule.plans.all {
		p := s.rule.plans.all[i]
		if s.isBusy(p.key) {
			continue
		}
		if p.Answer != nil {
			if s.now.Sub(p.since) >= time.Duration(keepAnswered)*s.p.TTL {
				s.drop(p.key, p.version)
			}
			continue
		}
		if a, ok := s.answerTo(p.Plan); ok {
			done := p.Plan
			done.Answer = &a
			if s.put(Put{Key: p.key, Doc: done, Version: p.version}) {
				s.rule.plans.all = slices.Clone(s.rule.plans.all)
				s.rule.plans.all[i].Plan = done
			}
		}
	}
}

func (s *step) answerTo(p Plan) (PlanAnswer, bool) {
	if limit := s.rule.out.Limit; limit > 0 && len(p.Commands) >= limit {
		return PlanAnswer{Err: "the request is too large for an entry of this store"}, true
	}
	if s.fold.value.Wrote(p.Writer) < p.Seq {
		return PlanAnswer{}, false
	}
	i := slices.IndexFunc(s.fold.answers, func(t taken) bool { return t.writer == p.Writer && t.seq == p.Seq })
	if i < 0 {
		return PlanAnswer{Unknown: true, Err: "it was taken, but the entry that says what it did was trimmed: look at the value"}, true
	}
	t := s.fold.answers[i]
	return PlanAnswer{Index: t.index, Results: t.results}, true
}
