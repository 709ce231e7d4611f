package member

import (
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

const ttl = 10 * time.Second

// joined is a member that runs something, renewed its heartbeat at 0, and waits for the answer to its next renewal.
func joined(l Lapse) (c Core, until protocol.Instant) {
	c = NewCore(Params{Member: "m", Nonce: "n", Timing: heartbeat.Timing{TTL: ttl, Rho: 50, Margin: ttl / 20}, Poll: ttl / 20}, l)
	c.Is, c.Inc, c.Own.Key = PhaseMember, 3, protocol.HeartbeatPrefix+c.Session()
	c.Extend(0, 0)
	until = c.Own.Until(c.Timing)
	c.Assign(protocol.Assignment{Version: 1, Grants: []*protocol.Grant{{Partition: "p"}}}, until)
	c.End()
	return c, until
}

// TestALateAnswerExtendsNothing: what is acknowledged when the lease has run out proves nothing, to the nanosecond.
func TestALateAnswerExtendsNothing(t *testing.T) {
	t.Parallel()
	for lapse, want := range map[Lapse]Phase{Confirm: PhaseConfirming, Rejoin: PhaseRemoved, Resume: PhaseMember} { // order-free: each alone
		for late, lapsed := range map[time.Duration]bool{-1: false, 0: true, 1: true} { // order-free: each alone
			lost := lapsed && lapse != Resume
			c, until := joined(lapse)
			ev := Renewed{Now: until.Add(late), Sent: protocol.Instant(ttl / 3), Key: c.Own.Key, Outcome: outbox.Done}
			c.At = ev.Now
			c.CheckLease()
			c.Renewed(ev)
			if c.Own.Held == lost || lapse != Resume && (c.Is == want) != lost || lapse == Resume && c.Is != want {
				t.Errorf("answered %d ns after the end of the lease (lapse %d): held %t, in phase %d", late, lapse, c.Own.Held, c.Is)
			}
			if lost && lapse == Confirm && (c.Given.ValidUntil != 0 || c.Life != 1 || c.Inc != 3) {
				t.Errorf("it may act until %d, in life %d and incarnation %d", c.Given.ValidUntil, c.Life, c.Inc)
			}
			if lost && lapse == Rejoin && c.Inc != 0 {
				t.Errorf("it is in incarnation %d still", c.Inc)
			}
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
	}
}

// TestTheEndTakesAllGrants: whoever halts or was removed runs nothing, and whoever leaves keeps its lease until all has stopped.
func TestTheEndTakesAllGrants(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Core){ // order-free: each alone
		"halt":   func(c *Core) { c.Halt(7, errors.New("the log was rewritten")) },
		"remove": func(c *Core) { c.Remove(7, "test") },
		"leave":  func(c *Core) { c.Leave(7, "test") },
	} {
		c, until := joined(Confirm)
		if end(&c); len(c.Given.Grants) != 0 || c.Given.Version != 2 || c.Idle() || (c.Given.ValidUntil == until) != (name == "leave") {
			t.Errorf("%s: given %+v, idle %t", name, c.Given, c.Idle())
		}
		if c.Reported = 2; !c.Idle() {
			t.Errorf("%s: it is not idle when the supervisor has stopped all", name)
		}
	}
}
