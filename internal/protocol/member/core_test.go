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

// TestWhatTheStoreTells: it is away from the first call that failed until one is answered, or after a write that failed
// until one is acknowledged. Each change is reported once.
func TestWhatTheStoreTells(t *testing.T) {
	t.Parallel()
	read := func(err string) func(*Core) { return func(c *Core) { c.Answered(err) } }
	write := func(err string, done bool) func(*Core) { return func(c *Core) { c.Wrote(err, done) } }
	entry := func(o outbox.Outcome, err string) func(*Core) {
		return func(c *Core) { c.Appended(Appended{Outcome: o, Err: err}) }
	}
	for i, story := range [][]struct {
		call func(*Core)
		told string // of StoreChanged
		now  string // Contact.Problem
	}{
		{{read(""), "", ""}, {read("away"), "[away]", "away"}, {read("still"), "", "still"}, {read(""), "[]", ""}},
		{{write("full", false), "[full]", "full"}, {read(""), "", "full"}, {write("", false), "", "full"},
			{entry(outbox.Refused, "too large"), "", "full"}, {write("", true), "[]", ""}},
		{{write("", false), "", ""}, {write("", true), "", ""}},
		{{entry(outbox.NotDone, "away"), "[away]", "away"}, {entry(outbox.Done, ""), "[]", ""}},
		{{entry(outbox.Unknown, "lost"), "[lost]", "lost"}, {read(""), "", "lost"}, {entry(outbox.Done, ""), "[]", ""}},
		{{read("away"), "[away]", "away"}, {write("full", false), "", "full"}, {read(""), "", "full"}},
		{{read("away"), "[away]", "away"}, {entry(outbox.Refused, "too large"), "[]", ""}},
	} {
		var c Core
		for n, step := range story {
			c.At++
			step.call(&c)
			told := ""
			for _, e := range c.End() {
				told += fmt.Sprintf("[%s]", e.(StoreChanged).Err)
			}
			if told != step.told || c.Contact.Problem != step.now || (told == "[]") && c.Contact.Heard != c.At {
				t.Errorf("story %d, call %d: told %s, %+v; want %s and %q", i, n, told, c.Contact, step.told, step.now)
			}
		}
	}
}

// TestWhatIsAskedForOnce: to be woken at the next instant that is due, within a poll, and what the supervisor should
// run, where that or its end has changed.
func TestWhatIsAskedForOnce(t *testing.T) {
	t.Parallel()
	c := NewCore(Params{Poll: 10}, Confirm)
	c.At = 100
	for _, due := range []struct {
		at   []protocol.Instant
		busy bool
		want string
	}{
		{nil, false, "[{110}]"}, {nil, false, "[]"}, {[]protocol.Instant{105, 103, 104}, false, "[{103}]"},
		{[]protocol.Instant{103}, true, "[{110}]"}, {[]protocol.Instant{100, 99, 111}, false, "[]"},
	} {
		w := c.Waking()
		for _, at := range due.at {
			w.Due(due.busy, at)
		}
		c.WakeAt(w)
		got := []string{}
		for _, e := range c.End() {
			got = append(got, fmt.Sprintf("{%d}", e.(WakeAt).At))
		}
		if fmt.Sprint(got) != due.want {
			t.Errorf("due at %v, busy %t: %v, want %s", due.at, due.busy, got, due.want)
		}
	}
	told := func(what string, want int) {
		t.Helper()
		if n := len(c.End()); n != want {
			t.Errorf("%s: told %d times, want %d", what, n, want)
		}
	}
	run := protocol.Assignment{Version: 1, Grants: []*protocol.Grant{{Partition: "x"}}}
	c.Revoke(7, 0)
	told("nothing, at first", 1)
	c.Revoke(7, 0)
	told("nothing again", 0)
	c.Assign(run, 50)
	told("a grant", 1)
	c.Assign(run, 50)
	told("the same", 0)
	c.Assign(run, 60)
	told("until later", 1)
	c.Revoke(8, 60)
	told("none of it", 1)
	if c.Given.Version != 2 || c.Given.Index != 8 || c.Given.ValidUntil != 60 || len(c.Given.Grants) != 0 {
		t.Errorf("given %+v", c.Given)
	}
	c.Halt(9, errors.New("one"))
	told("the end", 2)
	c.Halt(9, errors.New("another"))
	told("the end again", 0)
}

// TestWhoIsIn: only a member that is joined has a tenure. Where the store hints, the log is read rarely.
func TestWhoIsIn(t *testing.T) {
	t.Parallel()
	for _, is := range []Phase{PhaseMember, PhaseConfirming, PhaseLeaving} {
		for _, said := range []bool{true, false} {
			c, until := joined(Confirm)
			c.Is, c.Joined = is, said
			want := is == PhaseMember && said
			inc, valid := c.Tenure()
			if c.In() != want || (inc != 0) != want || (valid == until) != want {
				t.Errorf("phase %d, joined %t: in %t, tenure %d until %d", is, said, c.In(), inc, valid)
			}
		}
	}
	p := Params{Poll: time.Second, Timing: heartbeat.Timing{TTL: 10 * time.Second}}
	if got := p.LogEvery(); got != time.Second {
		t.Errorf("without hints it is read every %s", got)
	}
	if p.Hints.Log = true; p.LogEvery() != 4*time.Second {
		t.Errorf("with hints it is read every %s", p.LogEvery())
	}
	if p.TTL = time.Second; p.LogEvery() != time.Second {
		t.Errorf("with hints and a short TTL it is read every %s", p.LogEvery())
	}
}

// TestWhoIsLate: a member is late half an interval after a renewal that it missed, while our own are acknowledged.
// Where ours were overdue, the others have four polls more.
func TestWhoIsLate(t *testing.T) {
	t.Parallel()
	c, _ := joined(RenewLate)
	c.Own.Acked = c.At
	late := c.Timing.Of(0).Late()
	silent := func(d time.Duration) heartbeat.Observation {
		o := heartbeat.Observation{Key: "x"}.Read("1", 0, c.At, c.At)
		return o.Read("1", 0, c.At.Add(d), c.At.Add(d))
	}
	if c.Late(silent(late-1)) || !c.Late(silent(late)) || c.Late(heartbeat.Observation{Key: "x"}) {
		t.Error("it is late too early, never, or without having been seen")
	}
	every := c.Timing.Of(c.Own.TTL).Every()
	if c.At = c.Own.Acked.Add(every * 3 / 2); !c.Late(silent(late)) {
		t.Error("our own renewal is not overdue yet")
	}
	if c.At++; c.Late(silent(late)) {
		t.Error("somebody is late while our own renewal is overdue")
	}
	c.Extend(c.At, c.Own.TTL)
	if c.Own.Took != c.At || c.Late(silent(late)) {
		t.Error("the others get no time to try again")
	}
	took := c.At
	c.Extend(c.At, c.Own.TTL)
	if c.At = took.Add(4*c.Poll) - 1; c.Late(silent(late)) {
		t.Error("the others get less than four polls")
	}
	if c.At++; !c.Late(silent(late)) || c.Own.Took != took {
		t.Error("the others get more than four polls")
	}
}

// TestStrays: heartbeats of nobody, silent for four times as long as a member may be.
func TestStrays(t *testing.T) {
	t.Parallel()
	c, _ := joined(Confirm)
	silence := c.Silence(heartbeat.Observation{})
	var v cluster.Value
	v, _ = v.Apply(cluster.Entry{Index: 1, Writer: "w", Seq: 1,
		Commands: []cluster.Command{cluster.PrepareJoin{Member: "b", Heartbeat: "of b"}}})
	var all heartbeat.Observations
	for _, key := range []string{"of b", c.Own.Key, "stray", "young"} {
		since := protocol.Instant(0)
		if key == "young" {
			since = 1
		}
		all = all.With(heartbeat.Observation{Key: key}.Read("1", 0, since, since))
	}
	all = all.With(heartbeat.Observation{Key: "gone"}.Read("", 0, 0, 0))
	c.At = protocol.Instant(4 * silence)
	got := c.Strays(all, v)
	if len(got) != 1 || got[0].Key != "stray" {
		t.Errorf("strays %+v", got)
	}
	if got := c.Reason(all.Of("gone")); got != "its heartbeat is gone, for an unknown time" {
		t.Errorf("what is gone: %s", got)
	}
}

// TestWhenItRenews: in the phases in which others look at its heartbeat, when that is due, one at a time.
func TestWhenItRenews(t *testing.T) {
	t.Parallel()
	renews := map[Phase]bool{PhaseBeginning: true, PhaseJoining: true, PhaseMember: true, PhaseConfirming: true,
		PhaseLeaving: true}
	for is := PhaseReading; is <= PhaseHalted; is++ {
		c, _ := joined(Confirm)
		c.Is, c.Own.Next, c.At = is, 50, 49
		if c.Renew("h/"); len(c.End()) != 0 {
			t.Errorf("phase %d: it renews before that is due", is)
		}
		c.At = 50
		c.Renew("h/")
		fx := c.End()
		if (len(fx) == 1) != renews[is] {
			t.Errorf("phase %d: it wants %+v", is, fx)
		}
		if len(fx) == 1 && (fx[0].(Renew).Create || fx[0].(Renew).Key != c.Own.Key || !c.Own.Busy) {
			t.Errorf("phase %d: it wants %+v", is, fx)
		}
		if c.Renew("h/"); len(c.End()) != 0 {
			t.Errorf("phase %d: it renews twice at once", is)
		}
		c, _ = joined(Confirm)
		c.Is, c.Own = is, Own{}
		c.Renew("h/")
		fx = c.End()
		if (len(fx) == 1) != (renews[is] && is != PhaseLeaving) ||
			len(fx) == 1 && (!fx[0].(Renew).Create || fx[0].(Renew).Key != "h/"+c.Session()) {
			t.Errorf("phase %d without a heartbeat: it wants %+v", is, fx)
		}
	}
	c, _ := joined(Confirm)
	c.Own.Busy, c.At = true, 70
	if c.Renewed(Renewed{Key: "of another life", Outcome: outbox.Refused}) || !c.Own.Busy {
		t.Error("an answer to another life is taken")
	}
	if c.Renewed(Renewed{Key: c.Own.Key, Outcome: outbox.Unknown, Err: "lost"}) || c.Own.Busy ||
		c.Own.Next != c.At.Add(c.Poll) {
		t.Errorf("after an unknown outcome: %+v", c.Own)
	}
}

// TestWhoLeavesAtOnce: whoever nobody has heard of, or who was removed and would join in another life.
func TestWhoLeavesAtOnce(t *testing.T) {
	t.Parallel()
	for lapse, gone := range map[Lapse][]Phase{
		Confirm: {PhaseReading, PhaseNaming, PhaseBeginning}, RenewLate: {PhaseReading, PhaseNaming, PhaseBeginning,
			PhaseRemoved}, Resume: {},
	} {
		for is := PhaseReading; is <= PhaseRemoved; is++ {
			c, _ := joined(lapse)
			c.Is = is
			c.Leave(7, Gracefully)
			_, left := c.End()[0].(Left)
			if want := slices.Contains(gone, is); left != want || (c.Is == PhaseGone) != want ||
				!want && c.Is != PhaseLeaving {
				t.Errorf("lapse %d, phase %d: it is in phase %d, and says that it has left: %t", lapse, is, c.Is, left)
			}
		}
	}
	c := Core{Params: Params{Restart: true}}
	for stop, want := range map[string]bool{Gracefully: true, Evicted: false} {
		if c.Stop = stop; c.Holds() != want {
			t.Errorf("%s: it announces a restart: %t", stop, !want)
		}
	}
}

// framed counts what a step asks of it.
type framed struct {
	walker
	took, advanced, dropped int
}

func (f *framed) Take(Event) { f.took++ }
func (f *framed) Advance()   { f.advanced++ }
func (f *framed) Drop()      { f.dropped++ }

// TestAStep: the lease is judged first, then the event is taken, then what the state asks for is done; nothing of that
// by a member that is over, and nothing is asked for by one that has just halted.
func TestAStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lapsed                  bool
		ev                      Event
		took, advanced, dropped int
		is                      Phase
	}{
		"woken":           {false, Woken{}, 0, 1, 0, PhaseMember},
		"woken too late":  {true, Woken{}, 0, 1, 1, PhaseConfirming},
		"an answer":       {false, LogChecked{}, 1, 1, 0, PhaseMember},
		"a late answer":   {true, LogChecked{}, 1, 1, 1, PhaseConfirming},
		"it was refused":  {false, Renewed{Outcome: outbox.Refused, Key: "own"}, 0, 1, 1, PhaseConfirming},
		"of another life": {false, Renewed{Outcome: outbox.Refused, Key: "x"}, 0, 1, 0, PhaseMember},
		"closed":          {false, Closed{Err: errors.New("x")}, 0, 0, 0, PhaseHalted},
		"told to leave":   {false, Stop{Reason: "x"}, 0, 1, 0, PhaseLeaving},
	} {
		core, until := joined(Confirm)
		core.Own.Key = "own"
		if core.At = until - 1; c.lapsed {
			core.At = until
		}
		m := &framed{walker: walker{core: &core}}
		core.Step(m, c.ev)
		if m.took != c.took || m.advanced != c.advanced || m.dropped != c.dropped || core.Is != c.is {
			t.Errorf("%s: took %d, advanced %d, dropped %d, phase %d; want %+v", name, m.took, m.advanced, m.dropped,
				core.Is, c)
		}
		core.Is = PhaseGone
		before := *m
		if fx := core.Step(m, c.ev); fx != nil || m.took != before.took || m.advanced != before.advanced {
			t.Errorf("%s: whoever is gone does %+v", name, fx)
		}
	}
}
