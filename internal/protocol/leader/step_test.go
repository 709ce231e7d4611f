package leader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
)

// A paused leader's late write of a head lands after its successor has removed the task and the head: it has offers
// only, and the member never runs it.
func TestALateOfferOfAFormerLeader(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	s.ask("b", cluster.SubmitJob{Job: "t", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Pin: "b"}}}})
	a, b, key := s.members["a"], s.members["b"], headKey("b")
	s.until("it runs", func() bool { return b.runs("t") })
	s.remove(key)
	creates := func(e member.Effect) bool { p, ok := e.(Put); return ok && p.Key == key && p.Version == "" }
	s.until("a creates the head again", func() bool { return slices.ContainsFunc(a.calls, creates) })
	late := s.hold(a, creates).(Put)
	s.kill("a")
	s.until("b rules", func() bool { return s.rules() == b })
	s.ask("b", cluster.KillJob{Job: "t"})
	s.until("the job is gone", func() bool {
		return s.partition("t").ID == "" && s.get(slotKey("b", "t")).Version == "" && !b.runs("t")
	})
	s.set(key, late.Doc) // the store makes the call of the dead leader now
	for end := s.now.Add(5 * ttl); s.now < end; {
		if !s.callOne(nil) {
			s.tick(nil)
		}
		if b.runs("t") {
			t.Fatalf("it runs\n%s", s)
		}
	}
	if h, _ := s.get(key).Value.(headDoc); len(h.Tasks) > 0 || len(late.Doc.(headDoc).Tasks) != 1 ||
		late.Doc.(headDoc).Tasks[0].State != slotAcking {
		t.Fatalf("it was created as %+v, and is %+v", late.Doc, h)
	}
}

// split makes two members where a leads and has offered t to b, and b has answered; what a would append next is held.
func race(t *testing.T, like func(cluster.Command) bool) (s *stage, held member.Append) {
	t.Helper()
	s = led(t, "a", "b")
	s.ask("b", cluster.SubmitJob{Job: "t", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Pin: "b"}}}})
	a := s.members["a"]
	for end := s.now.Add(time.Minute); s.now < end; {
		for i, e := range a.calls {
			if ap, ok := e.(member.Append); ok && like(ap.Entry.Commands[0]) {
				a.calls = append(a.calls[:i:i], a.calls[i+1:]...)
				return s, ap
			}
		}
		var except []cluster.MemberID
		if p := s.partition("t"); p.Offered && like(cluster.RevokeOffer{}) {
			except = append(except, "b") // it does not answer
			if s.now < s.members["b"].Own.Next {
				except = nil
				except = append(except, "b")
			}
			s.set(s.members["b"].Own.Key, s.docs[s.members["b"].Own.Key].Value) // but lives
		}
		if !s.callOne(except) {
			s.tick(except)
		}
	}
	t.Fatalf("it is never appended\n%s", s)
	return nil, member.Append{}
}

func isAccept(c cluster.Command) bool { _, ok := c.(cluster.AcceptOffer); return ok }

// The answer that the former leader enters right before its successor's lead counts, and what it enters after that does
// not: the successor enters it again.
func TestAnAnswerAcrossAChangeOfLeader(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		s, accept := race(t, isAccept)
		if before {
			s.make(s.members["a"], accept)
		}
		s.kill("a")
		b := s.members["b"]
		s.until("b rules", func() bool { return s.rules() == b })
		token := s.partition("t").Token
		if !before {
			s.make(s.members["a"], accept)
		}
		s.until("it runs", func() bool { return b.runs("t") })
		if p := s.partition("t"); p.Offered || p.Token != token || !before && p.State != cluster.PartitionGranted {
			t.Fatalf("%v, it was offered under %d", p, token)
		}
	}
}

// An offer that nobody answers is revoked by whoever leads when its time is over; a successor begins to count by its
// own clock.
func TestTheDeadlineOfAnOfferOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	s.start("b", "n0")
	s.start("c", "n0")
	s.until("all have joined", s.joined("a", "b", "c"))
	s.ask("a", cluster.SubmitJob{Job: "t", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Pin: "c"}}}})
	s.until("it is offered", func() bool { return s.partition("t").Offered })
	alive := func() { s.set(s.members["c"].Own.Key, "{}") }
	s.kill("a")
	b := s.members["b"]
	for s.rules() != b {
		alive()
		s.pass(ttl/10, "c")
	}
	ruled := s.now
	for s.partition("t").Offered {
		if s.now.Sub(ruled) > 3*ttl {
			t.Fatalf("it is still offered\n%s", s)
		}
		alive()
		s.pass(ttl/10, "c")
	}
	if s.now.Sub(ruled) < 2*ttl-ttl/5 {
		t.Fatalf("revoked %s after the change of leader: it counted from before", s.now.Sub(ruled))
	}
	if m, _ := s.value().Member("c"); !m.Revoked {
		t.Fatal("the member that left it unanswered is offered more")
	}
	inc := func() cluster.Incarnation { m, _ := s.value().Member("c"); return m.Incarnation }
	was := inc()
	s.until("c comes back under another incarnation, and gets it",
		func() bool { return inc() > was && s.members["c"].runs("t") })
}

// A member whose session lives, and that is only away for less than the TTL, keeps its work; after that it loses it.
func TestSuspendedIsNotLost(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	s.ask("a", cluster.SubmitJob{Job: "t",
		Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Selector: nil}}}}, single("u"))
	s.until("both run", func() bool {
		return s.members["a"].runs("t") != s.members["b"].runs("t") && len(s.members["b"].last.Grants) == 1
	})
	owner := s.partition("t").Owner
	s.pass(ttl*9/10, "b")
	if p := s.partition("t"); p.Owner != owner || p.Offered {
		t.Fatalf("it was taken from a member that lives: %v", p)
	}
	s.until("b has lost its work", func() bool { _, in := s.value().Member("b"); return !in }, "b")
	b := s.members["b"]
	s.give(b, member.Woken{Now: s.now})
	if b.last.ValidUntil > s.now {
		t.Fatalf("b holds a lease until %d at %d, while others run its work", b.last.ValidUntil, s.now)
	}
	s.until("b is back", s.joined("a", "b"))
}

// Documents that nobody of us has written are refused, journaled with their path, and stop nobody.
func TestForeignDocuments(t *testing.T) {
	t.Parallel()
	s := newStage(t, "a", "b")
	s.until("both have joined", s.joined("a", "b"))
	s.ask("a", single("t"), single("u"))
	s.until("both run", func() bool {
		return len(s.members["a"].last.Grants) == 1 && len(s.members["b"].last.Grants) == 1
	})
	keys := []string{slotKey("a", s.members["a"].last.Grants[0].Partition), slotKey("b", "nobody-knows-it"),
		planKey("by-hand", 1), LeaderKey, headKey("b"), rosterKey, mailboxKey("zoe")}
	for i, text := range []string{"", "garbage", `{"format":7}`, `{"format":1,"token":9}`, "[]", `{"format":1}`,
		"null"} {
		s.set(keys[i], text)
	}
	s.pass(10 * ttl)
	s.until("all goes on", func() bool {
		return len(s.members["a"].last.Grants) == 1 && len(s.members["b"].last.Grants) == 1 && s.joined("a", "b")() &&
			s.members["a"].last.ValidUntil > s.now && s.get(LeaderKey).Bad == ""
	})
	seen := make(map[string]bool)
	for _, k := range s.bad {
		seen[k] = true
	}
	for _, k := range keys {
		if !seen[k] {
			t.Errorf("%s was not told of", k)
		}
	}
	s.ask("b", single("v"), single("w"))
	s.until("requests are taken",
		func() bool { return len(s.members["a"].last.Grants) == 2 && len(s.members["b"].last.Grants) == 2 })
	if d := s.get(headKey("b")); d.Bad != "" {
		t.Fatalf("what was written over is not as it should be: %+v", d)
	}
}

// A request that two leaders see is taken once, and answered by the second with what it did.
func TestARequestAcrossAChangeOfLeader(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	s.ask("b", cluster.Configure{Retention: 7})
	s.until("it is taken", func() bool { return s.value().Settings().Retention == 7 })
	s.kill("a")
	s.ask("b", cluster.Configure{Retention: 9})
	s.until("both are answered",
		func() bool { return s.members["b"].asks.Pending == nil && len(s.members["b"].asks.Queue) == 0 })
	taken := 0
	for _, r := range s.log {
		e, _ := cluster.DecodeEntry(cluster.Index(r.Index), r.Data)
		for _, c := range e.Commands {
			if q, ok := c.(cluster.TakeRequest); ok && q.Seq == 1 {
				taken++
			}
		}
	}
	if taken != 1 || s.value().Settings().Retention != 9 {
		t.Fatalf("taken %d times, retention %d", taken, s.value().Settings().Retention)
	}
}

// A member that stood still for its TTL beside a leader that did not is confirmed or removed, and two leaders for a
// moment enter nothing twice.
func TestAPausedLeader(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "b")
	s.ask("a", single("t"), single("u"))
	s.until("both run", func() bool {
		return len(s.members["a"].last.Grants) == 1 && len(s.members["b"].last.Grants) == 1
	})
	b := s.members["b"]
	s.until("b rules", func() bool { return b.rule.at == ruleRuling && len(b.last.Grants) == 2 }, "a")
	a := s.members["a"]
	s.give(a, member.Woken{Now: s.now}) // a wakes, and still believes that it leads
	s.until("both run again", func() bool {
		return a.Is == member.PhaseMember && len(a.last.Grants) == 1 && len(b.last.Grants) == 1
	})
	if l, _ := s.value().Leader(); l.Member != "b" || l.Term != 2 {
		t.Fatalf("%+v", l)
	}
}

// A leader is told to leave, and then is silent for so long that another start takes its name. It can no longer say
// that it wants to leave, so it ends, and the other one joins.
func TestTheNameIsTakenWhileItsOwnerLeaves(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	s.ask("a", single("t"))
	s.until("it runs", func() bool { return s.partition("t").Owner == "a" && len(s.members["a"].last.Grants) == 1 })
	old := s.members["a"]
	old.obeys = false // its task takes its time to stop
	s.give(old, member.Stop{Now: s.now, Reason: "told to"})
	s.start("a", "n1")
	s.until("the other one has taken the name", func() bool {
		m, ok := s.get(mailboxKey("a")).Value.(mailboxDoc)
		return ok && !old.Ours(m.Heartbeat)
	})
	s.members["old"], s.names = old, append(s.names, "old")
	renewed := s.get(old.Own.Key).Version
	s.until("it is heard of again", func() bool { return s.get(old.Own.Key).Version != renewed }, "a")
	s.obey(old)
	s.until("it has ended", func() bool { return old.over })
	s.until("the other one is in", func() bool { return s.members["a"].Is == member.PhaseMember })
}

// A request that the leader answers before its writer hears that it was written is known to be answered at once, by the
// hint that came in between.
func TestAnAnswerBeforeTheWriteReturns(t *testing.T) {
	t.Parallel()
	s := newStage(t, "a", "b")
	s.until("both have joined", s.joined("a", "b"))
	b := s.members["b"]
	s.ask("b", single("t"))
	put, ok := s.hold(b, func(e member.Effect) bool {
		p, ok := e.(Put)
		return ok && strings.HasPrefix(p.Key, planPrefix)
	}).(Put)
	if !ok {
		t.Fatal("b asks nothing")
	}
	wrote := s.make(b, put)
	s.until("the leader has answered", func() bool {
		p, ok := s.get(put.Key).Value.(planDoc)
		return ok && p.Answer != nil
	})
	s.give(b, wrote)
	from := s.now
	s.until("b knows it", func() bool { return b.asks.Pending == nil })
	if took := s.now.Sub(from); took > b.Poll {
		t.Errorf("b knew it after %v", took)
	}
}

// A head is made when it can be written: while it is being written, a step costs the same however many tasks it tells
// of. Thousands of tasks start within seconds by that. It is not parallel: others would allocate meanwhile.
func TestAHeadIsNotMadeInVain(t *testing.T) { //nolint:paralleltest // see above
	cost := func(tasks int) float64 {
		s := led(t, "a")
		a := s.members["a"]
		for n := range tasks {
			s.ask("a", single(cluster.JobID(fmt.Sprint("t", n))))
		}
		head := func(e member.Effect) bool {
			put, ok := e.(Put)
			h, is := put.Doc.(headDoc)
			return ok && is && len(h.Tasks) == tasks
		}
		s.until("its head is being written", func() bool { return slices.ContainsFunc(a.calls, head) })
		s.hold(a, head)
		for s.callOne(nil) {
		}
		return testing.AllocsPerRun(100, func() { Step(&a.State, member.Woken{Now: s.now}) })
	}
	if few, many := cost(1), cost(300); many > 2*few+10 {
		t.Errorf("a step allocates %.0f times with 300 tasks, and %.0f times with one", many, few)
	}
}

// A member reads its assignments one after the other, and of many the last ones for longer than an offer may take. Who
// accepts others is not revoked: it would get no more of them for a while.
func TestWhoAcceptsOthersHasMoreTime(t *testing.T) {
	t.Parallel()
	const tasks = 12
	s := led(t, "a")
	a := s.members["a"]
	for n := range tasks {
		s.ask("a", single(cluster.JobID(fmt.Sprint("t", n))))
	}
	var waiting []member.Effect
	reads := func(e member.Effect) bool {
		g, ok := e.(Get)
		return ok && strings.HasPrefix(g.Key, AssignPrefix)
	}
	began, read := s.now, s.now
	for len(a.last.Grants) < tasks {
		for slices.ContainsFunc(a.calls, reads) {
			waiting = append(waiting, s.hold(a, reads))
		}
		if len(waiting) > 0 && s.now.Sub(read) >= ttl/2 {
			first := waiting[0]
			waiting, read = waiting[1:], s.now
			s.give(a, s.make(a, first))
		}
		if !s.callOne(nil) {
			s.tick(nil)
		}
		if m, _ := s.value().Member("a"); m.Revoked || s.now.Sub(began) > tasks*ttl {
			t.Fatalf("after %s it has %d of %d tasks, and is revoked: %t", s.now.Sub(began), len(a.last.Grants), tasks,
				m.Revoked)
		}
	}
	if took := s.now.Sub(began); took < 3*ttl {
		t.Errorf("all is read after %s: the story is another one", took)
	}
	if s.pass(5 * ttl); len(a.rule.offers) != 0 {
		t.Errorf("%d offers are remembered, and all are answered", len(a.rule.offers))
	}
}

// An answer to an earlier offer gives no more time for a later one, though the mailbox of a member that is suspended
// still shows it.
func TestAnOldAnswerGivesNoMoreTime(t *testing.T) {
	t.Parallel()
	s := led(t, "a", "c")
	a, c := s.members["a"], s.members["c"]
	a.Hints = member.Hints{} // it looks at the mailboxes all the time
	pinned := func(id cluster.JobID) {
		s.ask("a", cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Pin: "c"}}}})
	}
	pinned("t")
	s.until("c accepts it", func() bool {
		m, _ := s.get(mailboxKey("c")).Value.(mailboxDoc)
		return len(m.Says) == 1 && m.Says[0].Say == sayAccept
	})
	s.until("that is entered", func() bool { return !s.partition("t").Offered }, "c")
	pinned("u")
	s.until("another one is offered", func() bool { return s.partition("u").Offered }, "c")
	offered := s.now
	for s.partition("u").Offered {
		if s.now.Sub(offered) > 3*ttl {
			t.Fatalf("it is still offered\n%s", s)
		}
		s.set(c.Own.Key, "{}") // its session lives
		s.pass(ttl/10, "c")
	}
}

// A document that is too large for the store is reported, and not written again at once.
func TestWhatIsTooLargeIsTold(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	a := s.members["a"]
	head := func(e member.Effect) bool {
		p, ok := e.(Put)
		return ok && p.Key == headKey("a")
	}
	s.ask("a", single("t"))
	s.until("its head is written", func() bool { return slices.ContainsFunc(a.calls, head) })
	s.hold(a, head)
	s.give(a, Wrote{Now: s.now, Key: headKey("a"), Outcome: outbox.Refused, Err: "1048577 bytes, at most 1048576"})
	for s.callOne(nil) {
		if slices.ContainsFunc(a.calls, head) {
			t.Fatal("it is written again at once")
		}
	}
	if !slices.Equal(s.bad, []string{headKey("a")}) {
		t.Errorf("refused: %q", s.bad)
	}
	s.until("it is tried again, and smaller", func() bool { return a.runs("t") })
}
