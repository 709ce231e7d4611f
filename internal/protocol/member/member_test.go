package member

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// walker proves in each phase what a test says.
type walker struct {
	proves map[Phase]Stand
	core   *Core
	lives  int
}

func (w *walker) Stand() Stand       { return w.proves[w.core.Is] }
func (w *walker) Again()             { w.lives++ }
func (*walker) Index() cluster.Index { return 7 }
func (*walker) Take(Event)           {}
func (*walker) Advance()             {}

// TestNoPhaseChangesWithoutProof: a stand that proves nothing moves nobody, and "not in" is not "out".
func TestNoPhaseChangesWithoutProof(t *testing.T) {
	t.Parallel()
	for p := PhaseReading; p <= PhaseHalted; p++ {
		c, _ := joined(Confirm)
		c.Is, c.Own.Held = p, false
		if c.Walk(&walker{core: &c}); c.Is != p {
			t.Errorf("from phase %d it went to %d", p, c.Is)
		}
	}
	c, _ := joined(Confirm)
	c.Is, c.Own = PhaseBeginning, Own{Asking: heartbeat.Asking{Busy: true}}
	if c.Walk(&walker{core: &c}); c.Is != PhaseBeginning {
		t.Error("it goes to join while its heartbeat is on its way")
	}
	c.Nonce = "n1"
	for key, want := range map[string]bool{c.Session(): true, heartbeat.Epoch(string(c.Member), "n1", 9): true,
		heartbeat.Epoch(string(c.Member), "n12", 0): false, heartbeat.Epoch("x", "n1", 0): false} {
		if c.Ours(protocol.HeartbeatPrefix+key) != want {
			t.Errorf("%s is of this start: %t", key, !want)
		}
	}
}

// TestALifeIsJoinedOnce: whoever is confirmed is not told again that it is joined, and whoever was removed is, in
// another life, when nothing runs any more.
func TestALifeIsJoinedOnce(t *testing.T) {
	t.Parallel()
	c, _ := joined(Confirm)
	in := Stand{In: true, Joined: true, Inc: 3}
	w := &walker{core: &c, proves: map[Phase]Stand{PhaseMember: in, PhaseConfirming: in}}
	said := func(want int, when string) {
		t.Helper()
		c.Walk(w)
		n := 0
		for _, e := range c.End() {
			if _, ok := e.(Joining); ok {
				n++
			}
		}
		if n != want {
			t.Errorf("%s it says %d times that it is joined, not %d", when, n, want)
		}
	}
	said(1, "when it is in")
	c.Is = PhaseConfirming
	said(0, "when it was confirmed")
	w.proves = map[Phase]Stand{PhaseMember: {Out: true}, PhaseRemoved: {Free: true}, PhaseNaming: {Free: true},
		PhaseJoining: {In: true, Joined: true, Inc: 7}}
	if said(0, "when it is out"); c.Is != PhaseRemoved || w.lives != 0 {
		t.Fatalf("in phase %d, after %d lives, while its work runs", c.Is, w.lives)
	}
	c.Reported = c.Given.Version
	if said(0, "when its work has stopped"); c.Is != PhaseBeginning || w.lives != 1 || c.Inc != 0 || c.Life != 1 {
		t.Fatalf("in phase %d of life %d, incarnation %d", c.Is, c.Life, c.Inc)
	}
	c.Own.Held, w.proves[PhaseMember] = true, Stand{Joined: true, Inc: 7}
	if said(1, "in another life"); c.Is != PhaseMember || c.Inc != 7 {
		t.Errorf("in phase %d, incarnation %d", c.Is, c.Inc)
	}
	c.Leave(7, "test")
	w.proves[PhaseLeaving] = Stand{In: true, Inc: 8}
	if said(0, "when it leaves, and is in after all"); c.Inc != 8 {
		t.Errorf("it leaves in incarnation %d", c.Inc)
	}
}

// TestAListOfHeartbeats shows whom it lacks, and in time those that belong to nobody.
func TestAListOfHeartbeats(t *testing.T) {
	t.Parallel()
	c, _ := joined(Confirm)
	v := cluster.Assemble(cluster.Parts{Members: []cluster.Member{{ID: "a", Heartbeat: "a"}, {ID: "z", Heartbeat: "z"},
		{ID: "held", Heartbeat: "held", State: cluster.MemberHeld}}})
	c.At = 7
	all := c.Listed(nil, []Heartbeat{{"stray", "1", ttl}, {c.Own.Key, "1", ttl}, {"a", "1", ttl}}, v, true)
	got := ""
	for _, o := range all {
		got += fmt.Sprint(o.Key, " ", o.Missing, o.Seen, " ")
	}
	if want := "a false 7 " + c.Own.Key + " false 7 stray false 7 z true 0 "; got != want {
		t.Errorf("observed %s, want %s", got, want)
	}
	c.At = c.At.Add(4*c.Timing.Silence() - 1)
	early := c.Strays(all, v)
	c.At++
	if late := c.Strays(all, v); len(early) > 0 || len(late) != 1 || late[0].Key != "stray" {
		t.Errorf("strays %+v, and later %+v", early, late)
	}
}

const ttl = 10 * time.Second

// joined is a member that runs something, renewed its heartbeat at 0, and waits for the answer to its next renewal.
func joined(l Lapse) (c Core, until protocol.Instant) {
	c = NewCore(Params{Member: "m", Nonce: "n", Timing: heartbeat.Timing{TTL: ttl, Rho: 50, Margin: ttl / 20},
		Poll: ttl / 20}, l)
	c.Is, c.Inc, c.Own.Key = PhaseMember, 3, protocol.HeartbeatPrefix+c.Session()
	c.Extend(0, 0)
	until = c.Own.Until(c.Timing)
	c.Assign(protocol.Assignment{Version: 1, Grants: []*protocol.Grant{{Partition: "p"}}}, until)
	c.End()
	return c, until
}

// TestALateAnswerExtendsNothing: where others may have counted the member out by then, what is acknowledged when the
// lease has run out proves nothing, to the nanosecond. Where they write over the heartbeat before, it proves that they
// have not: the member goes on, from when the renewal was sent.
func TestALateAnswerExtendsNothing(t *testing.T) {
	t.Parallel()
	for _, lapse := range []Lapse{Confirm, RenewLate, Resume} {
		for late, lapsed := range map[time.Duration]bool{-1: false, 0: true, 1: true} { // order-free: each alone
			lost := lapsed && lapse == Confirm
			c, until := joined(lapse)
			ev := Renewed{Now: until.Add(late), Sent: protocol.Instant(ttl / 3), Key: c.Own.Key, Outcome: outbox.Done}
			c.At = ev.Now
			c.CheckLease()
			c.Renewed(ev)
			ends := c.Own.Until(c.Timing)
			if c.Own.Held == lost || (c.Is == PhaseMember) == lost || !lost && ends != ev.Sent.Add(c.Valid()) {
				t.Errorf("answered %d ns after the end of the lease (lapse %d): held %t until %d, in phase %d",
					late, lapse, c.Own.Held, ends, c.Is)
			}
			if lost && (c.Given.ValidUntil != 0 || c.Life != 1 || c.Inc != 3) {
				t.Errorf("it may act until %d, in life %d and incarnation %d", c.Given.ValidUntil, c.Life, c.Inc)
			}
			if lost && (!slices.ContainsFunc(c.End(), isAssign) || !c.Lost("again") ||
				slices.ContainsFunc(c.End(), isAssign)) {
				t.Error("its work is not told once that it is to stop")
			}
		}
	}
}

func isAssign(e Effect) bool {
	_, ok := e.(Assign)
	return ok
}

// TestALeaseThatRanOutBeginsAgain where a member would go on, but is to state a longer TTL, or leaves: it waits for no
// answer that would let it stay.
func TestALeaseThatRanOutBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct { // order-free: each alone
		change func(*Core)
		stated time.Duration
		want   Phase
	}{
		"as usual":     {func(*Core) {}, ttl, PhaseMember},
		"a longer TTL": {func(c *Core) { c.Pace.Doubled = 1 }, 2 * ttl, PhaseRemoved},
		"it leaves":    {func(c *Core) { c.Pace.Slow = 1; c.Leave(7, "test") }, ttl, PhaseLeaving},
	} {
		core, until := joined(RenewLate)
		core.Longest = 8 * ttl
		c.change(&core)
		stated := core.StatedTTL()
		core.At = until - 1
		early := core.CheckLease()
		core.At = until
		late := core.CheckLease()
		core.Renew("another/")
		if early || late == core.Own.Held || late == (name == "as usual") || core.Is != c.want || stated != c.stated ||
			late && (core.Inc != 0 || core.Own.Key != "" || core.Pace.Doubled != 1) {
			t.Errorf("%s: lost %t before, %t at its end; stated %s, %+v", name, early, late, stated, core)
		}
	}
}

// TestWhoWasCutOffCountsNobodyOut: while its lease has run out, and for four polls after a renewal of it. What is gone
// is gone at once.
func TestWhoWasCutOffCountsNobodyOut(t *testing.T) {
	t.Parallel()
	for lapse, waits := range map[Lapse]bool{Confirm: false, RenewLate: true, Resume: false} { // order-free: each alone
		c, until := joined(lapse)
		back := until.Add(5 * ttl)
		for _, at := range []struct {
			now  protocol.Instant
			dead bool
		}{{until - 1, true}, {until, !waits}, {back, !waits}, {back.Add(ttl/5) - 1, !waits},
			{back.Add(ttl / 5), true}} {
			if c.At = at.now; at.now == back {
				c.Extend(back-1, 0)
			}
			silent := heartbeat.Observation{Key: "x"}.Read("1", ttl, 0, 0)
			silent = silent.Read("1", ttl, protocol.Instant(2*ttl), protocol.Instant(2*ttl))
			if got := c.Dead(silent); got != at.dead {
				t.Errorf("lapse %d, at %d: a silent one counts as dead: %t", lapse, at.now, got)
			}
			gone := silent.Read("", 0, at.now, at.now)
			if !c.Dead(gone) {
				t.Errorf("lapse %d, at %d: one that is gone lives", lapse, at.now)
			}
			if c.Late(gone.Read("", 0, at.now.Add(2*ttl), at.now.Add(2*ttl))) {
				t.Errorf("lapse %d, at %d: one that is gone is late", lapse, at.now)
			}
		}
	}
}

// TestAStoreThatIsAwayIsNotSlow: renewals that got no answer in time ask for a longer TTL, unless no read was answered
// either, or they were refused.
func TestAStoreThatIsAwayIsNotSlow(t *testing.T) {
	t.Parallel()
	for says, want := range map[struct { // order-free: each alone
		read    string
		outcome outbox.Outcome
	}]uint8{{"", outbox.Unknown}: 1, {"connection refused", outbox.Unknown}: 0, {"", outbox.Refused}: 0} {
		c, _ := joined(RenewLate)
		c.Longest = 8 * ttl
		if says.outcome == outbox.Refused {
			c.lapse, c.Is = Confirm, PhaseLeaving // in which it goes on
		}
		for range 3 {
			c.Own.Asking = heartbeat.Asking{Busy: true, Asked: c.At}
			c.At = c.At.Add(ttl / 3)
			c.Answered(says.read)
			c.Renewed(Renewed{Now: c.At, Key: c.Own.Key, TTL: ttl, Outcome: says.outcome, Err: "too late"})
		}
		if c.Pace.Doubled != want {
			t.Errorf("%+v: the TTL is doubled %d times, want %d", says, c.Pace.Doubled, want)
		}
	}
}

// TestALeaseThatRunsOutInAnOutage asks for no longer TTL, though a read was answered just after the renewal was asked
// for; where the store answers reads all the time it does: then the store is slow.
func TestALeaseThatRunsOutInAnOutage(t *testing.T) {
	t.Parallel()
	for _, slow := range []bool{false, true} {
		c, _ := joined(Confirm)
		c.Longest = 8 * ttl
		c.Own.Asking = heartbeat.Asking{Busy: true, Asked: c.At}
		for range 20 {
			c.At = c.At.Add(ttl / 20)
			if slow || c.At.Sub(c.Own.Asked) < ttl/10 {
				c.Answered("")
			}
		}
		if !c.CheckLease() || c.Pace.Doubled != map[bool]uint8{true: 1}[slow] {
			t.Errorf("the store is slow: %t; the TTL is doubled %d times", slow, c.Pace.Doubled)
		}
	}
}

// TestARefusedRenewalEndsTheLife, but not that of a member that leaves: others see that it is gone.
func TestARefusedRenewalEndsTheLife(t *testing.T) {
	t.Parallel()
	for _, leaves := range []bool{false, true} {
		c, _ := joined(Confirm)
		if leaves {
			c.Leave(7, "test")
		}
		c.Renewed(Renewed{Key: c.Own.Key, Outcome: outbox.Refused})
		if c.Own.Over != leaves || (c.Life == 0) != leaves || (c.Own.Key == "") == leaves {
			t.Errorf("leaves %t: over %t, life %d, key %q", leaves, c.Own.Over, c.Life, c.Own.Key)
		}
		c.Silent = true
		c.Step(&walker{core: &c}, Reported{Now: 9, Version: 1})
		if c.Step(&walker{core: &c}, Woken{Now: 3}); c.At != 9 || c.Silent {
			t.Errorf("its clock goes back to %d, or it says nothing of a report: %t", c.At, c.Silent)
		}
	}
}

// TestTheEndTakesAllGrants: whoever halts or was removed runs nothing, and whoever leaves keeps its lease until all has
// stopped.
func TestTheEndTakesAllGrants(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Core){ // order-free: each alone
		"halt":   func(c *Core) { c.Halt(7, errors.New("the log was rewritten")) },
		"remove": func(c *Core) { c.Remove(7, "test") },
		"leave":  func(c *Core) { c.Leave(7, "test") },
	} {
		c, until := joined(Confirm)
		if end(&c); len(c.Given.Grants) != 0 || c.Given.Version != 2 || c.Idle() ||
			(c.Given.ValidUntil == until) != (name == "leave") {
			t.Errorf("%s: given %+v, idle %t", name, c.Given, c.Idle())
		}
		if c.Reported = 2; !c.Idle() {
			t.Errorf("%s: it is not idle when the supervisor has stopped all", name)
		}
	}
}
