package leader

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/internal/duty"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

// readHead finds what has changed in our folder. It looks at the newest head that is known: the one that admits us has its first changes.
func (s *step) readHead() {
	h := s.head.headDoc
	if !s.Ours(h.Heartbeat) || h.Seq <= s.head.read {
		return
	}
	if h.Since > s.head.read || s.head.read == 0 {
		s.head.list = h.Seq
		return
	}
	for _, c := range h.Changes {
		if c.Seq > s.head.read {
			s.wantSlot(c.Task)
		}
	}
	s.head.read = h.Seq
}

// fetch is an assignment that is to be read.
type fetch struct {
	task  cluster.PartitionID
	sent  bool // it is being read
	again bool // it has changed since that began
}

func (s *step) wantSlot(p cluster.PartitionID) {
	s.fetch = slices.Clone(s.fetch)
	i := slices.IndexFunc(s.fetch, func(f fetch) bool { return f.task == p })
	if i < 0 {
		s.fetch = append(s.fetch, fetch{task: p})
		return
	}
	s.fetch[i].again = s.fetch[i].sent
}

// fetched takes in that an assignment was read, or was not.
func (s *step) fetched(key string, ok bool) {
	i := slices.IndexFunc(s.fetch, func(f fetch) bool { return f.sent && slotKey(s.Member, f.task) == key })
	if i < 0 {
		return
	}
	s.fetch = slices.Clone(s.fetch)
	if f := &s.fetch[i]; f.again || !ok {
		f.sent, f.again = false, false
		return
	}
	s.fetch = slices.Delete(s.fetch, i, i+1)
}

// folderListed reads each assignment that is listed, and those again that are not: a list may be old, and starts and stops nothing by itself. So what has
// changed lately is read too, and a list with less than there should be is made again.
func (s *step) folderListed(docs []Doc) {
	for _, c := range s.head.Changes {
		s.wantSlot(c.Task)
	}
	for _, d := range docs {
		if slot, ok := d.Value.(slotDoc); ok {
			s.wantSlot(slot.Task)
		}
	}
	s.slots.Each(func(_ string, h slotDoc) bool {
		s.wantSlot(h.Task)
		return true
	})
	if len(docs) < s.head.Tasks {
		s.head.pause = s.At.Add(s.Poll)
		return
	}
	s.head.read, s.head.list = max(s.head.read, s.head.list), 0
}

// readsAtOnce is how many assignments are read at a time.
const readsAtOnce = 32

// fetchSlots reads the assignments that have changed.
func (s *step) fetchSlots() {
	if s.Inc == 0 || s.Is == member.PhaseRemoved {
		return
	}
	s.readHead()
	if s.head.list > 0 && s.At >= s.head.pause && s.list(folder(s.Member)) {
		s.head.asked = true
	}
	for i := range s.fetch {
		if f := s.fetch[i]; !f.sent && len(s.busy) < readsAtOnce && s.get(slotKey(s.Member, f.task)) {
			s.fetch = slices.Clone(s.fetch)
			s.fetch[i].sent = true
		}
	}
}

// slotGot takes in an assignment. One of another membership of this member is none; one that cannot be read leaves what was there.
func (s *step) slotGot(d Doc) {
	slot, ok := d.Value.(slotDoc)
	_, there := s.slots.Get(d.Key)
	switch {
	case s.Inc == 0 || d.Bad != "":
	case ok && slot.Token >= s.admitted && slot.Member == s.Member:
		s.slots.set(d.Key, slot)
		s.changed = true
	case there:
		s.slots.remove(d.Key)
		s.changed = true
	}
	if s.changed {
		s.lighten()
	}
}

// assign derives what the supervisor should run, when that or our lease has changed.
func (s *step) assign() {
	if s.Is != member.PhaseMember {
		return
	}
	next := s.Given
	if s.changed && len(s.fetch) == 0 || next.Version == 0 {
		s.changed = false
		next = duty.Granted(next, s.head.Index, s.grants())
	}
	s.Assign(next, s.Own.Until(s.Timing()))
}

func (s *step) grants() []*protocol.Grant {
	out := make([]*protocol.Grant, 0, s.slots.Len())
	s.slots.Each(func(_ string, h slotDoc) bool {
		if h.State == slotActive || h.State == slotTaking {
			out = append(out, h.grant())
		}
		return true
	})
	slices.SortFunc(out, func(a, b *protocol.Grant) int { return strings.Compare(string(a.Partition), string(b.Partition)) })
	return out
}

func (h slotDoc) grant() *protocol.Grant {
	return &protocol.Grant{
		Partition: h.Task, Token: h.Token, Handover: h.Spec.Handover, Attempt: h.Attempt, Parents: h.Parents, ListedBy: h.Listed, Input: h.Input,
		Index: h.Share, Count: h.Shares, Spec: h.Spec, SpecIndex: h.Since, From: h.From, Cause: h.Cause,
	}
}

// says is what there is to say about our assignments.
func (s *step) says() (out []saying) {
	s.slots.Each(func(_ string, h slotDoc) bool {
		if say := s.sayOf(h); say.Say != "" {
			say.Task, say.Token = h.Task, h.Token
			out = append(out, say)
		}
		return len(out) < maxSays
	})
	return out
}

// maxSays bounds a mailbox. What has no room waits until others were heard.
const maxSays = 2000

func (s *step) sayOf(h slotDoc) saying {
	switch {
	case h.State == slotAcking && s.Is == member.PhaseLeaving:
		return saying{Say: sayDecline}
	case h.State == slotAcking:
		return saying{Say: sayAccept}
	}
	return s.sayOfRun(h)
}

// sayOfRun is what there is to say of a task that was accepted.
func (s *step) sayOfRun(h slotDoc) saying {
	r, there := s.report(h.Task)
	ended := there && r.Token == h.Token && r.State != protocol.RunActive
	switch {
	case ended && r.State == protocol.RunFinished && h.State != slotTaking:
		return saying{Say: sayDone}
	case s.Behind() || s.changed:
		// The supervisor has yet to take in what it should do: "not reported" proves nothing.
	case h.State == slotSealing && (!there || ended), h.State == slotTaking && ended:
		return saying{Say: sayStopped}
	case h.State == slotTaking && there && r.Token == h.Token:
		return saying{Say: sayStarted}
	case h.State == slotActive && ended && r.Attempt == h.Attempt:
		return saying{Say: sayFailed, Attempt: r.Attempt, Fresh: r.Fresh, Message: r.Message}
	}
	return saying{}
}

func (s *step) report(p cluster.PartitionID) (protocol.Report, bool) {
	i, ok := slices.BinarySearchFunc(s.Reports, p, func(r protocol.Report, p cluster.PartitionID) int {
		return strings.Compare(string(r.Partition), string(p))
	})
	if !ok {
		return protocol.Report{}, false
	}
	return s.Reports[i], true
}

// mailbox is our mailbox as it is in the store.
type mailbox struct {
	have    mailboxDoc // ours, as it was written last
	version store.Version
	others  string // the heartbeat that the document names, where it is of another start or life
	known   bool   // version is that of the store
	life    uint64 // of the session that it goes with
}

// mine reports whether the document is there, and of the present life.
func (m *mailbox) mine() bool { return m.version != "" && m.have.Want != "" }

func (m mailboxDoc) same(o mailboxDoc) bool {
	return m.Heartbeat == o.Heartbeat && m.Want == o.Want && m.Incarnation == o.Incarnation && m.Reason == o.Reason && slices.Equal(m.Says, o.Says)
}

// post writes our mailbox when there is something new to say.
func (s *step) post() {
	if s.Is < member.PhaseJoining || s.Is > member.PhaseLeaving || s.Is == member.PhaseRemoved || !s.Own.Held || s.out() {
		return
	}
	key := mailboxKey(s.Member)
	if !s.mailbox.known {
		s.get(key)
		return
	}
	want := s.wants()
	foreign := s.mailbox.version != "" && !s.mailbox.mine()
	switch {
	case s.mailbox.others != "" && !s.Ours(s.mailbox.others):
		// another start was quicker: see awaitJoin
	case s.Is == member.PhaseLeaving && s.Inc == 0:
		// it is taken back: see settle
	case foreign || s.mailbox.version != "" && s.mailbox.life != s.Life:
		s.drop(key, s.mailbox.version) // of a former life: the present one has another session
	case s.mailbox.version == "" || !want.same(s.mailbox.have):
		if s.put(Put{Key: key, Doc: want, Version: s.mailbox.version, Life: s.Life + 1}) {
			s.mailbox.have, s.mailbox.life = want, s.Life
		}
	}
}

func (s *step) wants() mailboxDoc {
	m := mailboxDoc{Format: docFormat, Member: s.Member, Heartbeat: s.Own.Key, Want: wantStay, Incarnation: s.Inc, Join: admission(s.Join)}
	switch {
	case s.Is == member.PhaseJoining:
		m.Want = wantJoin
	case s.Is == member.PhaseConfirming || s.head.Revoked && s.Is == member.PhaseMember && s.head.Incarnation == s.Inc:
		m.Want = wantConfirm
	case s.Is == member.PhaseLeaving && s.Idle():
		m.Want, m.Reason = wantLeave, s.Stop
	}
	if s.Inc != 0 && s.Is != member.PhaseConfirming {
		m.Says = s.says()
	}
	return m
}

func (s *step) mailboxGot(d Doc) {
	s.mailbox.known, s.mailbox.version, s.mailbox.others = true, d.Version, ""
	if m, ok := d.Value.(mailboxDoc); ok && m.Heartbeat != s.Own.Key {
		s.mailbox.others = m.Heartbeat
	} else if ok {
		s.mailbox.have = m
		return
	}
	s.mailbox.have = mailboxDoc{}
}

func (s *step) mailboxWrote(ev Wrote) {
	if ev.Err == "" && ev.Version != "" {
		s.mailbox.version, s.mailbox.others = ev.Version, ""
		s.head.look = s.expect(s.head.look, answeredIn*s.Poll)
		s.rule.boxes.hint = s.rule.boxes.hint || !s.p.Hints // the leader may be ourselves
		return
	}
	s.mailbox.known = false // deleted, a conflict, or not known: read it
}
