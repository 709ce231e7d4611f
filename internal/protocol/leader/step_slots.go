package leader

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/store"
)

// slot is a task of this member, as the head tells of it, and its assignment.
type slot struct {
	taskDoc
	of *slotDoc // nil: it was not read yet
}

// fits reports whether an assignment is the one that a head tells of.
func (e taskDoc) fits(h slotDoc) bool { return e.Token == h.Token && e.Index <= h.Index }

// fetch is an assignment that is to be read.
type fetch struct {
	taskDoc
	sent bool // it is being read
}

// readHead takes in our tasks as the newest head tells of them. Tokens of before we joined are of another membership.
// An assignment that was read stays until a newer one under its token was, and what was accepted stays so under its
// token: a head that had to be created again offers it.
func (s *step) readHead() {
	if !s.head.fresh || !s.Ours(s.head.Heartbeat) {
		return
	}
	was := s.slots
	s.head.fresh, s.changed, s.slots, s.fetch = false, true, tree[slot]{}, tree[fetch]{}
	for _, e := range s.head.Tasks {
		if e.Token < s.admitted {
			continue
		}
		key := slotKey(s.Member, e.Task)
		have, _ := was.Get(key)
		if have.State == slotActive && e.State == slotAcking && have.Token == e.Token {
			e.State = slotActive
		}
		if have.of != nil && have.Token == e.Token {
			s.slots.Set(key, slot{e, have.of}) // a tree of which there is no copy yet
		}
		if have.of == nil || !e.fits(*have.of) {
			s.fetch.Set(key, fetch{taskDoc: e}) // likewise
		}
	}
}

// readsAtOnce is how many assignments are read at a time.
const readsAtOnce = 32

// fetchSlots reads the assignments that the head tells of and that we do not have.
func (s *step) fetchSlots() {
	if s.Inc == 0 || s.Is == member.PhaseRemoved {
		return
	}
	s.readHead()
	for key, f := range s.fetch.Each {
		if len(s.busy) >= readsAtOnce {
			break
		}
		if !f.sent && s.get(key) {
			f.sent = true
			s.fetch.set(key, f)
		}
	}
}

// slotGot takes in that an assignment was read, or was not. One that is not what the head tells of was written since,
// or by somebody else: the next head tells more.
func (s *step) slotGot(ev Got) {
	f, asked := s.fetch.Get(ev.Doc.Key)
	h, ok := ev.Doc.Value.(slotDoc)
	switch {
	case !asked:
		return
	case ok && f.fits(h) && ev.Err == "":
		s.slots.set(ev.Doc.Key, slot{f.taskDoc, &h})
	case ev.Err != "" || !f.sent: // the head is newer than this read
		f.sent = false
		s.fetch.set(ev.Doc.Key, f)
		return
	}
	s.fetch.remove(ev.Doc.Key)
	s.changed = true
}

// assign derives what the supervisor should run, when that or our lease has changed.
func (s *step) assign() {
	if s.changed && ordered.Len(&s.fetch.of) == 0 {
		s.changed = false
		s.lighten()
		s.work = s.work.At(*s.light, s.Member)
	}
	if s.Is == member.PhaseMember {
		s.Assign(duty.Granted(s.Given, s.head.Index, s.work.Grants), s.Own.Until(s.Timing))
	}
}

// maxSays bounds a mailbox. What has no room waits until others were heard.
const maxSays = 2000

// says is what there is to say about our assignments: answers to offers, and what became of what runs.
func (s *step) says() (out []saying) {
	answer := sayAccept
	if s.Is == member.PhaseLeaving {
		answer = sayDecline
	}
	for _, h := range s.slots.Each {
		if h.State == slotAcking {
			out = append(out, saying{Task: h.Task, Token: h.Token, Say: answer})
		}
	}
	reports := duty.Reports(s.Reports)
	for _, d := range s.work.Duties {
		// While the supervisor has yet to take in what it should do, "not reported" proves nothing.
		if say := sayingOf(duty.Word(d, reports.Of(d.Partition.ID))); say.Say == sayDone || say.Say != "" &&
			!s.Behind() {
			out = append(out, say)
		}
	}
	return out[:min(len(out), maxSays)]
}

func sayingOf(c cluster.Command) saying {
	switch c := c.(type) {
	case cluster.Started:
		return saying{Task: c.Partition, Token: c.Token, Say: sayStarted}
	case cluster.Stopped:
		return saying{Task: c.Partition, Token: c.Token, Say: sayStopped}
	case cluster.FinishPartition:
		if c.Outcome == cluster.OutcomeFailed {
			return saying{Task: c.Partition, Token: c.Token, Say: sayFailed, Attempt: c.Attempt, Fresh: c.Fresh,
				Message: c.Message}
		}
		return saying{Task: c.Partition, Token: c.Token, Say: sayDone}
	}
	return saying{}
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
	return m.Heartbeat == o.Heartbeat && m.Want == o.Want && m.Incarnation == o.Incarnation && m.Reason == o.Reason &&
		slices.Equal(m.Says, o.Says)
}

// post writes our mailbox when there is something new to say.
func (s *step) post() {
	if s.Is < member.PhaseJoining || s.Is > member.PhaseLeaving || s.Is == member.PhaseRemoved || !s.Own.Held ||
		s.out() {
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
	case s.replaced(), s.Is == member.PhaseLeaving && s.Inc == 0:
		// nobody hears of it: see Stand and settle
	case foreign || s.mailbox.version != "" && s.mailbox.life != s.Life:
		s.drop(key, s.mailbox.version) // of a former life: the present one has another session
	case s.mailbox.version == "" || !want.same(s.mailbox.have):
		if s.put(Put{Key: key, Doc: want, Version: s.mailbox.version, Life: s.Life + 1}) {
			s.mailbox.have, s.mailbox.life = want, s.Life
		}
	}
}

func (s *step) wants() mailboxDoc {
	m := mailboxDoc{Format: docFormat, Member: s.Member, Heartbeat: s.Own.Key, Want: wantStay, Incarnation: s.Inc,
		Join: s.Join}
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
	s.mailbox.known, s.mailbox.version, s.mailbox.others, s.mailbox.have = true, d.Version, "", mailboxDoc{}
	if m, ok := d.Value.(mailboxDoc); ok && m.Heartbeat != s.Own.Key {
		s.mailbox.others = m.Heartbeat
	} else if ok {
		s.mailbox.have = m
	}
}

func (s *step) mailboxWrote(ev Wrote) {
	if ev.Err == "" && ev.Version != "" {
		s.mailbox.version, s.mailbox.others = ev.Version, ""
		s.head.look = s.expect(s.head.look, answeredIn*s.Poll)
		s.rule.boxes.hint = s.rule.boxes.hint || !s.Hints.Docs // the leader may be ourselves
		return
	}
	s.mailbox.known = false // deleted, a conflict, or not known: read it
}

// lighten makes the excerpt of the value that a member has which does not fold the log, and by which each knows its
// work: all members, complete as of the roster's index, and what is assigned to this one.
func (s *step) lighten() {
	jobs, partitions := s.assignedRecords()
	lead := cluster.Leadership{Member: s.roster.Leader, Term: s.roster.Term, SinceMS: s.roster.SinceMS}
	light := s.light.Excerpt(s.roster.Index, lead, s.roster.Members, jobs, partitions)
	s.light = &light
	if !s.Whole() && s.roster.Index > 0 {
		s.Emit(member.Applying{Value: light})
	}
}

// assignedRecords are the jobs and partitions of our assignments. Of a job they may name more than one spec, while they
// are written again: the newest counts.
func (s *step) assignedRecords() (jobs []cluster.Job, partitions []cluster.Partition) {
	for _, h := range s.slots.Each {
		of := h.of.Job
		i := slices.IndexFunc(jobs, func(j cluster.Job) bool { return j.ID == of.ID })
		if i < 0 {
			jobs, i = append(jobs, cluster.Job{ID: of.ID, Spec: &cluster.JobSpec{}}), len(jobs)
		}
		j, newer := &jobs[i], of.SpecIndex >= jobs[i].SpecIndex
		if spec, ok := j.Task(of.Spec.Tasks[0].Name); !ok {
			j.Spec.Tasks = append(j.Spec.Tasks, of.Spec.Tasks[0])
		} else if newer {
			*spec = of.Spec.Tasks[0]
		}
		if newer {
			j.SpecIndex, j.Spec.Source = of.SpecIndex, of.Spec.Source
		}
		partitions = append(partitions, h.partition())
	}
	return jobs, partitions
}

// partition is the record of an assignment in the state that the head tells of.
func (h slot) partition() cluster.Partition {
	p := h.of.Partition
	p.Attempts = h.Attempt
	if h.State == slotTaking {
		return p
	}
	if p.Next == h.of.Member && p.State == cluster.PartitionAdopting { // the move is over since
		p.From = p.Owner
	}
	p.State, p.Owner, p.Token, p.Next, p.NextToken, p.Offered = cluster.PartitionGranted, h.of.Member,
		h.Token, "", 0, h.State == slotAcking
	if h.State == slotSealing {
		p.State = cluster.PartitionReleasing
	}
	return p
}
