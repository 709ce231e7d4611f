package leader

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// target is what a leader shows: an assignment; without a task the head of a member; without a member the roster.
type target struct {
	member cluster.MemberID
	task   cluster.PartitionID
}

func (t target) key() string {
	switch {
	case t.task != "":
		return slotKey(t.member, t.task)
	case t.member != "":
		return headKey(t.member)
	}
	return rosterKey
}

// slots is before all assignments of a member, in the order in which documents are written: its head comes after them.
func (t target) slots() string { return string(t.member) + "\x00" }

func (t target) order() string {
	if t.task == "" {
		return string(t.member) + "\x01"
	}
	return t.slots() + protocol.Segment(t.task, "#:")
}

// kept is a document of the leader's as it is in the store.
type kept struct {
	is      any           // what it says: a headDoc, a rosterDoc, the stamp of an assignment; nil for anything else
	index   cluster.Index // of an assignment: that it names
	version store.Version
	unsure  bool // a write is under way, its outcome is unknown, or it conflicted: read it
	target
	told int // of a head: assignments that were written since
}

// stamp tells whether an assignment is as it should be.
type stamp struct {
	token         cluster.Token
	since         cluster.Index
	share, shares int64
}

func (h slotDoc) stamp() stamp {
	return stamp{h.Token, h.Job.SpecIndex, h.Partition.Index, h.Partition.Count}
}

// keep is what is kept of a document.
func (t target) keep(doc any, v store.Version) kept {
	if h, ok := doc.(slotDoc); ok {
		return kept{target: t, version: v, is: h.stamp(), index: h.Index}
	}
	return kept{target: t, version: v, is: doc}
}

// same reports whether a document says what it should, whatever index it names. An assignment stays as it is while a
// task stops whose job has ended.
func same(a, b any) bool {
	switch a := a.(type) {
	case headDoc:
		b, ok := b.(headDoc)
		return ok && a.Incarnation == b.Incarnation && a.Heartbeat == b.Heartbeat && a.State == b.State &&
			a.Revoked == b.Revoked && slices.Equal(a.Tasks, b.Tasks)
	case rosterDoc:
		b, ok := b.(rosterDoc)
		one := func(m, o cluster.Member) bool { return bytes.Equal(m.Encode(), o.Encode()) }
		return ok && a.Term == b.Term && a.Settings == b.Settings && slices.EqualFunc(a.Members, b.Members, one)
	case stamp:
		b, ok := b.(stamp)
		return ok && (a == b || a.token == b.token && b.since == 0)
	}
	return a == b
}

// bring writes a document for which no call is under way, nil for none, over the version that is known, and reports
// whether it is as it should be.
func (s *step) bring(t target, doc any) bool {
	key := t.key()
	have, there := s.rule.docs.Get(key)
	switch {
	case have.unsure:
		s.get(key)
	case doc == nil && !there:
		return true
	case doc == nil:
		s.drop(key, have.version)
	case there && same(have.is, t.keep(doc, "").is):
		return true
	case s.put(Put{Key: key, Doc: doc, Version: have.version}):
		k := t.keep(doc, have.version)
		k.unsure = true
		s.rule.docs.set(key, k)
	}
	return false
}

// written takes in a document of ours as it is in the store.
func (s *step) written(d Doc) {
	was, there := s.rule.docs.Get(d.Key)
	t := was.target
	slot, ok := d.Value.(slotDoc)
	member, head := strings.CutPrefix(d.Key, HeadPrefix)
	switch {
	case ok:
		t = target{slot.Member, slot.Task}
	case head:
		t.member = cluster.MemberID(strings.TrimSuffix(member, "/state"))
	case d.Key != rosterKey && !strings.HasPrefix(d.Key, AssignPrefix):
		return
	}
	if s.rule.at == ruleNone || there && !was.unsure && was.version == d.Version {
		return // as we know it
	}
	s.noteTerm(d)
	if d.Version == "" {
		s.rule.docs.remove(d.Key)
	} else {
		s.rule.docs.set(d.Key, t.keep(d.Value, d.Version))
	}
	if t.key() == d.Key { // else it is an assignment that cannot be read, and was none before
		s.markDirty(t)
	}
}

// projected takes in that a document was written, or was not.
func (s *step) projected(ev Wrote) {
	if s.rule.at != ruleNone && strings.HasPrefix(ev.Key, planPrefix) {
		s.rule.plans.hint = true
	}
	k, ok := s.rule.docs.Get(ev.Key)
	if !ok {
		return
	}
	switch {
	case ev.Err != "":
		if s.doubt(k.target); ev.Outcome == outbox.Refused {
			s.Emit(member.Refusing{Key: ev.Key, Reason: ev.Err + "; try: fewer tasks for each member"})
		}
		return
	case ev.Version == "":
		s.rule.docs.remove(ev.Key)
		return
	}
	k.version, k.unsure = ev.Version, false
	s.rule.docs.set(ev.Key, k)
	switch is := k.is.(type) {
	case rosterDoc:
		s.roster.rosterDoc, s.roster.known = is, true
	case headDoc:
		s.rule.boxes.look = s.expect(s.rule.boxes.look, answeredIn*s.Poll)
		s.head.hint = s.head.hint || !s.Hints.Docs && k.member == s.Member
	case stamp:
		head := target{member: k.member}.key()
		if h, ok := s.rule.docs.Get(head); ok {
			h.told++
			s.rule.docs.set(head, h)
		}
	}
}

// doubt has a document read again before it is relied on.
func (s *step) doubt(t target) {
	if k, ok := s.rule.docs.Get(t.key()); ok {
		k.unsure = true
		s.rule.docs.set(t.key(), k)
	}
	s.markDirty(t)
}

// markDirty notes that a document may have to be written; with an assignment the head that tells of it.
func (s *step) markDirty(t target) {
	s.rule.dirty.set(t.order(), t)
	if t.task != "" {
		s.markDirty(target{member: t.member})
	}
}

// audit is where the leader is in comparing what is written with what should be.
type audit struct {
	next protocol.Instant
	last cluster.MemberID // whose folder was looked at last
}

// auditSlots looks at the head and the folder of one member after the other: somebody else may have removed or changed
// something.
func (s *step) auditSlots() {
	if !s.p.Audit || s.At < s.rule.audit.next {
		return
	}
	if m := s.fold.Value.Following(s.rule.audit.last); m != "" && s.list(folder(m)) {
		s.get(headKey(m))
		s.audited(m, 0)
	}
}

// audited paces the audit: a store may need a request for each document, and an idle cluster must cost little: half a
// document a second, and less the more members there are. All is compared at once when another leader begins.
func (s *step) audited(m cluster.MemberID, documents int) {
	each := max(2*time.Second, time.Duration(len(s.roster.Members))*200*time.Millisecond)
	s.rule.audit = audit{next: s.At.Add(max(s.Params.TTL, time.Duration(2*(documents+1))*each)), last: m}
}

// folderAudited finds assignments of a member that are not as we have written them. A list may be old: they are read
// before anything is written.
func (s *step) folderAudited(prefix string, docs []Doc) {
	if s.rule.at != ruleRuling {
		return // it did when it asked
	}
	m := cluster.MemberID(strings.TrimSuffix(strings.TrimPrefix(prefix, AssignPrefix), "/"))
	s.audited(m, len(docs))
	check := func(key string, v store.Version) {
		switch k, _ := s.rule.docs.Get(key); {
		case k.version == v || k.unsure || s.isBusy(key):
		case k.task == "":
			s.get(key) // see written
		default:
			s.doubt(k.target)
		}
	}
	listed := make(map[string]bool, len(docs))
	for _, d := range docs {
		listed[d.Key] = true
		check(d.Key, d.Version)
	}
	for key := range s.rule.docs.below(folder(m)) {
		if !listed[key] {
			check(key, "")
		}
	}
}

// rosterOf lists the members of the cluster.
func (s *step) rosterOf() rosterDoc {
	v := &s.fold.Value
	l, _ := v.Leader()
	r := rosterDoc{Format: docFormat, Term: l.Term, Index: v.Index(), Leader: l.Member, SinceMS: l.SinceMS,
		Settings: v.Settings()}
	for m := range v.Members() {
		m.Changed = 0 // by work, and not by what others must know
		r.Members = append(r.Members, m)
	}
	return r
}

// tree is a sorted map of which each copy stays as it is: states share the nodes, and a step changes copies.
type tree[V any] struct{ of ordered.Map[string, V] }

func (t *tree[V]) Get(k string) (V, bool) { return ordered.Get(&t.of, k) }

// Set changes a tree of which there is no copy yet.
func (t *tree[V]) Set(k string, v V) { ordered.Set(&t.of, k, v) }

// Each yields the pairs in order of key; walks of the proof call it by its name.
func (t *tree[V]) Each(yield func(string, V) bool) { ordered.Each(&t.of, yield) }

func (t *tree[V]) set(k string, v V) {
	ordered.Seal(&t.of)
	ordered.Set(&t.of, k, v)
}

func (t *tree[V]) remove(k string) {
	ordered.Seal(&t.of)
	ordered.Remove(&t.of, k)
}

// below yields what has a prefix, as it is now: what is set or removed meanwhile does not show.
func (t *tree[V]) below(prefix string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { ordered.Below(&t.of, prefix, yield) }
}
