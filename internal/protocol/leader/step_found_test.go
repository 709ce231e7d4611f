package leader

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// What the simulator has found, by the shortest way to it.

// Without hints each look at who leads is due at once; it must not put off the one at the leader's heartbeat.
func TestALookDoesNotPutOffAProbe(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	b := s.members["b"]
	b.Hints.Docs = false
	s.kill("a")
	s.until("b rules", func() bool { return s.rules() == b })
}

// A leader falls silent and its heartbeat stays, and so does its deputy, which would have followed it before. The next
// stand-by looks once in a poll, and one look falls shortly before the silence has lasted for long enough: the next one
// is made right then, and not a poll after the last.
func TestAnUrgentLookDoesNotWait(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b", "c")
	c := s.members["c"]
	s.members["a"].over, s.members["b"].over = true, true
	o := c.vote.Election.Holder
	end := o.Since.Add(c.Timing.Of(o.TTL).Silence())
	s.until("a leads no more", func() bool { return s.get(LeaderKey).Version == "" })
	if s.now != end {
		t.Errorf("it leads until %s after its silence could be over", s.now.Sub(end))
	}
}

// A leader is late, and its deputy leads before its session has ended: with hints and without, and where a heartbeat
// vanishes by itself. Who has died meanwhile does not wait for that end. The former leader keeps what it runs, and
// follows when it is back, though the log tells it of the other one before the document does.
func TestADeputyFollowsALeaderThatIsLate(t *testing.T) {
	t.Parallel()
	for name, hints := range map[string]member.Hints{ // order-free: each on a stage of its own
		"no hints": {}, "hints": {Docs: true, Log: true},
		"it vanishes": {Docs: true, Log: true, Ends: true, Vanish: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := led(t, "a", "b", "c", "d")
			for _, m := range s.members { // order-free
				m.Hints = hints
			}
			s.ask("a", single("t"), single("u"), single("v"), single("w"))
			s.until("each runs one", func() bool {
				return !slices.ContainsFunc(s.names,
					func(id cluster.MemberID) bool { return len(s.members[id].last.Grants) != 1 })
			})
			s.pass(4 * ttl)
			a, b, ran := s.members["a"], s.members["b"], s.members["a"].last.Grants[0]
			since := s.now
			s.kill("d")
			s.until("d is out", func() bool {
				_, in := s.value().Member("d")
				return !in
			}, "a")
			if took, most := s.now.Sub(since), a.Timing.Late()+2*a.Poll; b.rule.at != ruleRuling || took > most {
				t.Errorf("it took %s, want at most %s, and b is %d", took, most, b.rule.at)
			}
			if m, _ := s.value().Member("a"); m.State != cluster.MemberJoined || m.Heartbeat != a.Own.Key {
				t.Fatalf("a is out: %+v", m)
			}
			(&step{&a.State}).hinted("") // of the log alone: the document's is late
			a.vote.hint = false
			s.pass(3 * ttl)
			if s.rules() != b || len(a.last.Grants) == 0 || a.last.Grants[0].Token != ran.Token ||
				a.last.Grants[0].Partition != ran.Partition {
				t.Errorf("%s rules, and a runs %+v", s.rules().id, a.last.Grants)
			}
			if l, _ := s.value().Leader(); l.Term != 2 {
				t.Errorf("term %d", l.Term)
			}
		})
	}
}

// TestADeadDeputyIsPassedOver: the deputy dies, and the leader is suspended. Who comes after it finds the leader late.
func TestADeadDeputyIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, hints := range map[string]member.Hints{ // order-free: each on a stage of its own
		"no hints": {}, "hints": {Docs: true, Log: true},
		"it vanishes": {Docs: true, Log: true, Ends: true, Vanish: true},
	} {
		for _, joins := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, a member that joins: %t", name, joins), func(t *testing.T) {
				t.Parallel()
				others := []cluster.MemberID{"b", "c"}
				if joins {
					others = others[:1]
				}
				s := led(t, "a", others...)
				for _, m := range s.members { // order-free
					m.Hints = hints
				}
				s.pass(4 * ttl)
				since, a := s.now, s.members["a"]
				s.kill("b")
				if joins {
					s.start("c", "n0").Hints = hints
				}
				s.until("b is out", func() bool {
					_, in := s.value().Member("b")
					return !in
				}, "a")
				if took, most := s.now.Sub(since), a.Timing.Late()+4*a.Poll; took > most || s.members["c"].rule.at != ruleRuling {
					t.Errorf("it took %s, want at most %s, and c is %d", took, most, s.members["c"].rule.at)
				}
			})
		}
	}
}

// TestARequestAboveAnEntryIsAnswered: one that no entry can take is refused, and not left without a word.
func TestARequestAboveAnEntryIsAnswered(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	for n, refused := range map[int]bool{maxEntry - 1: false, maxEntry: true} { // order-free: each is another writer's
		w := cluster.WriterID(fmt.Sprint("w", n))
		key := planKey(w, 1)
		s.set(key, planDoc{Writer: w, Seq: 1, Commands: slices.Repeat([]cluster.Command{cluster.KillJob{Job: "j"}}, n)})
		answer := func() *planAnswer {
			p, _ := s.get(key).Value.(planDoc)
			return p.Answer
		}
		s.until("it is answered", func() bool { return answer() != nil })
		if a := answer(); (a.Err != "") != refused {
			t.Errorf("%d commands: %q, want an error: %t", n, a.Err, refused)
		}
	}
}

// Lists that a leader asked for in a former term are answered when it leads no more: in its next term it lists again.
func TestAListOfAFormerTermIsNone(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	b := s.members["b"]
	s.kill("a")
	s.until("b adopts", func() bool { return b.rule.at == ruleAdopting })
	var late []member.Event
	for range adopted {
		late = append(late, s.make(b, s.hold(b, func(e member.Effect) bool { _, ok := e.(List); return ok })))
	}
	s.set(LeaderKey, holderDoc{Format: docFormat, Member: "z", Heartbeat: "pulse/z/n0-0", Term: 7})
	s.until("b leads no more", func() bool { return b.rule.at == ruleNone })
	for _, ev := range late {
		s.give(b, ev)
	}
	s.set(headKey("x"), headDoc{Format: docFormat, Member: "x", Heartbeat: "pulse/x/n0-0", State: "joined"})
	s.until("what z has left is gone", func() bool { return s.rules() == b && s.get(headKey("x")).Version == "" })
}

// An outage is no reason to follow a leader: nobody's renewals were taken.
func TestAfterAnOutageNobodyIsLate(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b", "c")
	s.pass(4 * ttl)
	for range 8 { // at other moments of their rhythm
		s.now = s.now.Add(ttl * 2 / 5)
		s.pass(ttl/10, "a") // which tries again a bit later
		s.pass(ttl + 7*ttl/100)
	}
	if l, _ := s.value().Leader(); l.Term != 1 || s.rules().id != "a" {
		t.Errorf("%s rules in term %d", s.rules().id, l.Term)
	}
}

// A member that is asked to leave before it was admitted takes back what it has asked for, and ends.
func TestLeavingBeforeItIsIn(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	b := s.start("b", "n0")
	s.until("b asks", func() bool { return s.get(mailboxKey("b")).Version != "" }, "a")
	s.give(b, member.Stop{Now: s.now, Reason: "told to"})
	s.until("b has ended", func() bool { return b.over }, "a")
	if d := s.get(mailboxKey("b")); d.Version != "" {
		t.Fatalf("its mailbox is still there: %+v", d)
	}
}

// The head that admits a member has its first assignments.
func TestTheFirstHeadIsRead(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	s.ask("a", single("t"), single("u"))
	s.until("both run", func() bool { return s.members["a"].runs("t") && s.members["a"].runs("u") })
	b := s.start("b", "n0")
	began := s.now
	s.until("b runs one", func() bool { return len(b.last.Grants) == 1 })
	if took := s.now.Sub(began); took > ttl {
		t.Fatalf("it took %s: it has waited for the look that nobody hints at", took)
	}
}

// The leader's heartbeat is no start under the name of a member that claims its own.
func TestTheLeaderIsNoRival(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	b := s.start("b", "n0")
	for i := range 2 {
		s.pass(ttl/2, "b")
		d := s.docs[s.members["a"].Own.Key]
		s.give(b, Got{Now: s.now, Sent: s.now, Doc: d})
		if b.over {
			t.Fatalf("it has ended at look %d", i)
		}
	}
}

// The mailbox of a dead member goes, also where its heartbeat is long forgotten.
func TestADeadMembersMailboxGoes(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	s.set(mailboxKey("z"), mailboxDoc{Format: docFormat, Member: "z", Heartbeat: "pulse/z/n0-0", Want: wantStay,
		Incarnation: 1})
	s.until("it has gone", func() bool { return s.get(mailboxKey("z")).Version == "" })
}

// The stand-bys have died with the leader, and the others look seldom: one that waits for a leader finds out soon.
func TestAMemberThatWaitsLooksAtTheLeader(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]member.Event{
		"to leave":      member.Stop{Reason: "told to"},
		"for an answer": member.Proposed{ID: 1, Commands: []cluster.Command{cluster.KillJob{Job: "none"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := led(t, "a")
			all := []cluster.MemberID{"a", "b", "c", "d", "e", "f", "g", "h"}
			for _, m := range all[1:] {
				s.start(m, "n0")
			}
			s.until("all have joined", s.joined(all...))
			for _, m := range all {
				s.members[m].p.StandBys = 0
			}
			s.pass(4 * ttl)
			h := s.members["h"]
			for _, m := range all[:7] {
				s.members[m].over = true // and its heartbeat and documents stay, as on a store without sessions
			}
			s.give(h, wait)
			began := s.now
			s.until("it rules", func() bool { return s.rules() == h })
			if took := s.now.Sub(began); took > 3*ttl {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A read that fails after a hint is made again soon: there is no second hint.
func TestAFailedLookIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"head": headKey("b"), "roster": rosterKey, "mailboxes": MailboxPrefix, "requests": planPrefix,
		"heartbeats": protocol.HeartbeatPrefix,
	} { // order-free: each on a stage of its own
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := led(t, "a", "b")
			b := s.members["b"]
			if strings.HasSuffix(key, "/") { // a list: the leader's
				b = s.members["a"]
			}
			looks := func(e member.Effect) bool {
				return e == member.Effect(Get{Key: key}) || e == member.Effect(List{Prefix: key})
			}
			s.until("it looks", func() bool { return slices.ContainsFunc(b.calls, looks) })
			failed := member.Event(Got{Now: s.now, Doc: Doc{Key: key}, Err: "timeout"})
			if _, ok := s.hold(b, looks).(List); ok {
				failed = Listed{Now: s.now, Prefix: key, Err: "timeout"}
			}
			s.give(b, failed)
			from := s.now
			s.until("it looks again", func() bool { return slices.ContainsFunc(b.calls, looks) })
			if took := s.now.Sub(from); took > 2*b.Poll {
				t.Errorf("it looked again after %v", took)
			}
		})
	}
}

// A store may answer with what was: a head from before a task was taken away starts it no more.
func TestAnOldHeadStartsNothing(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	a, key := s.members["a"], headKey("a")
	s.ask("a", single("t"))
	s.until("it runs", func() bool { return a.runs("t") })
	old := s.get(key)
	s.ask("a", cluster.KillJob{Job: "t"})
	s.until("it is gone", func() bool { return !a.runs("t") && s.get(slotKey("a", "t")).Version == "" })
	a.rule = rule{} // it is as any member: a leader looks at what it has written
	s.give(a, Got{Now: s.now, Sent: s.now, Doc: old})
	if a.runs("t") || ordered.Len(&a.fetch.of) > 0 {
		t.Fatal("it is started again")
	}
}

// A head may be read while its assignment is: what that read shows is of the time before, and it is read again.
func TestAnAssignmentIsReadAfterItsHead(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	b := s.members["b"]
	s.ask("a", cluster.SubmitJob{Job: "t", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Pin: "b"}}}})
	key := slotKey("b", "t")
	reads := func(e member.Effect) bool { return e == member.Effect(Get{Key: key}) }
	s.until("b reads its assignment", func() bool { return slices.ContainsFunc(b.calls, reads) })
	old := s.make(b, s.hold(b, reads))
	h := b.head.headDoc
	h.Index, h.Tasks = h.Index+1, slices.Clone(h.Tasks)
	h.Tasks[0].Index = h.Index // as if it had been written again
	s.give(b, Got{Now: s.now, Sent: s.now, Doc: Doc{Key: headKey("b"), Version: "new", Value: h}})
	s.give(b, old)
	if !slices.ContainsFunc(b.calls, reads) {
		t.Errorf("it is not read again, b has %+v", b.fetch)
	}
}

// The heartbeat under which a member is confirmed may have gone before that was entered: the leader looks at it again
// at once.
func TestWhoeverWasConfirmedIsLookedAt(t *testing.T) {
	t.Parallel()
	s := newStage(t, "a")
	a := s.members["a"]
	a.Hints.Vanish = true
	s.until("a leads", s.joined("a"))
	b := s.start("b", "n0")
	s.until("b has joined", s.joined("a", "b"))
	s.give(b, member.Renewed{Now: s.now, Key: b.Own.Key, Outcome: outbox.Refused, Err: "session is gone"})
	confirms := func(e member.Effect) bool {
		x, ok := e.(member.Append)
		return ok && slices.ContainsFunc(x.Entry.Commands,
			func(c cluster.Command) bool { _, ok := c.(cluster.ConfirmMember); return ok })
	}
	s.until("it is to be confirmed", func() bool { return slices.ContainsFunc(a.calls, confirms) })
	entry := s.hold(a, confirms)
	s.kill("b")
	s.pass(ttl / 10)
	s.give(a, s.make(a, entry))
	began := s.now
	s.until("b was removed", func() bool { _, in := a.fold.Value.Member("b"); return !in })
	if took := s.now.Sub(began); took > ttl/4 {
		t.Fatalf("it took %s", took)
	}
}

// A member that is told to leave while it is being confirmed leaves under the incarnation that it is given.
func TestLeavingWhileItIsConfirmed(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	b := s.members["b"]
	s.give(b, member.Renewed{Now: s.now, Key: b.Own.Key, Outcome: outbox.Refused, Err: "session is gone"})
	was := b.Inc
	confirmed := func() bool {
		m, _ := s.members["a"].fold.Value.Member("b")
		return m.Incarnation > was
	}
	s.until("it asks", func() bool { m, _ := s.get(mailboxKey("b")).Value.(mailboxDoc); return m.Want == wantConfirm },
		"a")
	s.until("it was confirmed", confirmed, "b")
	s.give(b, member.Stop{Now: s.now, Reason: "told to"})
	s.until("it has left", func() bool { return b.over })
}

// Where heartbeats vanish with their session, one stays whose session was never closed: the leader lists them, and
// removes it. So it does with many.
func TestAHeartbeatOfNobodyIsRemoved(t *testing.T) {
	t.Parallel()
	for _, vanish := range []bool{false, true} {
		s := newStage(t, "a")
		s.members["a"].Hints.Vanish = vanish
		s.until("a leads", s.joined("a"))
		for i := range 200 {
			s.set(fmt.Sprint(protocol.HeartbeatPrefix, "gone", i), heartbeat.Text{})
		}
		s.until("they were removed", func() bool { return len(s.below(protocol.HeartbeatPrefix)) == 1 })
	}
}

// A leader whose log does not answer sees what its successor has written: it undoes none of that. What was written by
// hand it does undo, once the log shows nobody else.
func TestAFormerLeaderUndoesNothing(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	a := s.members["a"]
	s.ask("a", single("t"))
	s.until("t runs", func() bool { return a.runs("t") })
	key := headKey("a")
	later := s.get(key).Value.(headDoc)
	later.Term, later.Tasks = later.Term+1, []taskDoc{{Task: "t", Token: later.Tasks[0].Token + 1, State: slotSealing,
		Index: later.Index}}
	version := s.set(key, later)
	reads := func(e member.Effect) bool { _, ok := e.(member.ReadLog); return ok }
	s.until("it reads the log", func() bool { return slices.ContainsFunc(a.calls, reads) })
	read := s.hold(a, reads)
	s.give(a, Got{Now: s.now, Sent: s.now, Doc: s.get(key)})
	s.pass(ttl / 2)
	if d := s.get(key); d.Version != version {
		t.Fatalf("it was overwritten: %+v", d)
	}
	s.give(a, s.make(a, read))
	s.until("it was undone", func() bool {
		h, _ := s.get(key).Value.(headDoc)
		return h.Term < later.Term && h.Tasks[0].State == slotActive
	})
}

// An old list of mailboxes shows what a member asked for in a former life: nobody is put back into that.
func TestAnOldMailboxAsksForNothing(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	a, b := s.members["a"], s.start("b", "n0")
	s.until("b asks", func() bool { m, _ := s.get(mailboxKey("b")).Value.(mailboxDoc); return m.Want == wantJoin }, "a")
	old := s.get(mailboxKey("b"))
	s.until("b has joined", s.joined("a", "b"))
	s.give(b, member.Renewed{Now: s.now, Key: b.Own.Key, Outcome: outbox.Refused, Err: "session is gone"})
	was := b.Inc
	s.until("b was confirmed", func() bool { return b.Inc > was && b.Is == member.PhaseMember })
	s.give(a, Got{Now: s.now, Sent: s.now, Doc: s.get(old.Value.(mailboxDoc).Heartbeat)})
	for _, want := range []wantKind{wantJoin, wantConfirm} {
		box := old.Value.(mailboxDoc)
		box.Want, box.Incarnation = want, b.Inc
		s.give(a, Listed{Now: s.now, Prefix: MailboxPrefix,
			Docs: []Doc{{Key: old.Key, Version: old.Version, Value: box}, s.get(mailboxKey("a"))}})
		s.pass(ttl / 20)
		if m, _ := s.value().Member("b"); m.Heartbeat != b.Own.Key {
			t.Fatalf("%s: b has the heartbeat %s, and renews %s", want, m.Heartbeat, b.Own.Key)
		}
	}
}

// The session of the only member ends while it leaves, or its lease while it was suspended, before it hears that it is
// to leave: it can say nothing any more, nobody else is there to see that, and it ends.
func TestLeavingWithoutASession(t *testing.T) {
	t.Parallel()
	for name, suspended := range map[string]time.Duration{"the session ends": 0, "the lease lapses": 2 * ttl} { // order-free: each alone
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := led(t, "a")
			a := s.members["a"]
			key := a.Own.Key
			s.now = s.now.Add(suspended)
			s.give(a, member.Stop{Now: s.now, Reason: "told to"})
			s.give(a, member.Renewed{Now: s.now, Key: key, Outcome: outbox.Refused, Err: "session is gone"})
			s.until("it has ended", func() bool { return a.over }, "a")
		})
	}
}

// A write is lost, and what became of it is not known: it is looked at and made again, long before the next audit.
func TestALostWriteIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"assignment": AssignPrefix, "head": HeadPrefix} { // order-free: each on a stage of its own
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := led(t, "a")
			a := s.members["a"]
			writes := func(e member.Effect) bool {
				p, ok := e.(Put)
				return ok && strings.HasPrefix(p.Key, prefix)
			}
			s.ask("a", single("t"))
			s.until("it is written", func() bool { return slices.ContainsFunc(a.calls, writes) })
			lost := s.hold(a, writes).(Put)
			s.give(a, Wrote{Now: s.now, Key: lost.Key, Err: "no answer"})
			began := s.now
			s.until("t runs", func() bool { return a.runs("t") })
			if took := s.now.Sub(began); took > a.Poll {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A member whose log may have been rewritten decides nothing before the store has said which history it has.
func TestADoubtedHistoryDecidesNothing(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	b := s.members["b"]
	b.fold.History.Doubted = true
	s.give(b, member.Woken{Now: s.now})
	check := s.hold(b, func(e member.Effect) bool { _, ok := e.(member.CheckLog); return ok })
	s.kill("a")
	s.pass(5 * ttl)
	if s.get(LeaderKey).Version != "" || s.rules() != nil {
		t.Fatal("b leads, though it doubts")
	}
	s.give(b, s.make(b, check))
	s.until("b rules", func() bool { return s.rules() == b })
}

// slow is a store whose answers take a second.
type slow struct {
	*memory.Store
	now *protocol.Instant
}

func (s slow) Get(ctx context.Context, key string) (store.Doc, error) {
	*s.now = s.now.Add(time.Second)
	return s.Store.Get(ctx, key)
}

// TestCalls: each outcome of a call of the store, and the event that the member gets for it.
func TestCalls(t *testing.T) {
	t.Parallel()
	now, docs, ctx := protocol.Instant(1), memory.New().Open(), t.Context()
	c := &Caller{LogCaller: shell.NewLogCaller(protocol.Config{Member: "a", Store: slow{docs, &now}, TTL: time.Second,
		Logger: slog.New(slog.DiscardHandler), Clock: func() protocol.Instant { return now }})}
	get := func(key string) Got { return c.Call(ctx, Get{Key: key}).(Got) }

	// A request keeps its time; a read counts from when it was asked for.
	request := planDoc{Writer: "w", Seq: 1, AtMS: 7, Commands: []cluster.Command{cluster.KillJob{Job: "j"}}}
	key := planKey("w", 1)
	wrote := c.Call(ctx, Put{Key: key, Doc: request}).(Wrote)
	got := get(key)
	if p, _ := got.Doc.Value.(planDoc); wrote.Outcome != outbox.Done || p.AtMS != 7 || got.Sent.Add(time.Second) != got.At() {
		t.Errorf("%+v, then %+v", wrote, got)
	}

	// What is not there is no error, also where it is to be removed.
	if got := get(planKey("w", 2)); got.Err != "" || got.Doc.Version != "" {
		t.Errorf("of no document: %+v", got)
	}
	gone := c.Call(ctx, Delete{Key: planKey("w", 2), Version: "1"}).(Wrote)
	if gone.Outcome != outbox.Done || gone.Err != "" {
		t.Errorf("what has gone is removed: %+v", gone)
	}

	// What was read before is not read again, but what is there now is; and what cannot be read cannot be twice.
	request.AtMS = 8
	changed := must.Get(docs.Put(ctx, store.Doc{Key: key, Value: must.Get(Encode(request))(t), Version: wrote.Version}))(t)
	if p, _ := get(key).Doc.Value.(planDoc); p.AtMS != 8 {
		t.Errorf("the document was changed, and is read as %+v", p)
	}
	must.Succeed(t, must.Err(docs.Put(ctx, store.Doc{Key: key, Value: []byte("{}"), Version: changed})))
	for range 2 {
		if got := get(key); got.Doc.Bad == "" {
			t.Errorf("it cannot be read, and is %+v", got.Doc)
		}
	}
	for seq := range uint64(2 * maxDecoded) {
		request.Seq = seq + 10
		c.Call(ctx, Put{Key: planKey("w", request.Seq), Doc: request})
		get(planKey("w", request.Seq))
	}
	if n := len(c.decoded.docs); n > maxDecoded {
		t.Errorf("%d documents are kept", n)
	}

	// A write of a former life is not sent, which says nothing of the store.
	late := c.Call(ctx, Put{Key: mailboxKey("a"), Doc: mailboxDoc{Member: "a"}, Life: 2}).(Wrote)
	if !late.Late || late.Outcome != outbox.NotDone || late.Err == "" {
		t.Fatalf("it was answered %+v", late)
	}
	s := led(t, "a")
	late.Now = s.now
	for _, e := range Step(&s.members["a"].State, late) {
		if changed, ok := e.(member.StoreChanged); ok {
			t.Errorf("the store is said to fail: %s", changed.Err)
		}
	}
}
