package leader

import (
	"testing"

	"github.com/rota-run/rota/cluster"
)

func happyPath(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	p.completes(p.active("p1", "t"))
	p.until("idle", p.is("p1", "t", slotIdle))
	return p
}

func timesOut(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	p.until("offered", p.is("p1", "t", slotAcking), "p1")
	p.says("p1 does not answer, and its session lives")
	for !p.is("p1", "t", slotRevoked)() {
		p.lives("p1")
		p.pass(ttl/10, "p1")
	}
	p.says("p1 goes on")
	p.active("p1", "t")
	return p
}

func diesAcking(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	p.until("offered", p.is("p1", "t", slotAcking), "p1")
	p.dies("p1")
	p.until("dead", p.is("p1", "t", slotDead))
	return p
}

func diesActive(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	p.active("p1", "t")
	p.dies("p1")
	p.until("dead", p.is("p1", "t", slotDead))
	p.peer("p1", "2")
	p.active("p1", "t")
	return p
}

func diesSealing(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	a := p.active("p1", "t")
	a.obeys = false
	p.says("the job is killed")
	p.ask("c", cluster.KillJob{Job: "t"})
	p.until("sealing", p.is("p1", "t", slotSealing))
	p.dies("p1")
	p.until("dead", p.is("p1", "t", slotDead))
	return p
}

func diesCompleting(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	a := p.active("p1", "t")
	p.completes(a)
	p.says("and dies before its mailbox says so")
	p.dies("p1")
	p.until("dead", p.is("p1", "t", slotDead))
	p.peer("p1", "2")
	p.completes(p.active("p1", "t"))
	p.until("idle", p.is("p1", "t", slotIdle))
	return p
}

func oneWaits(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t#1", "t#2")
	p.peer("p1", "1")
	p.peer("p2", "1")
	p.submit("1", "2")
	first, second := p.parts()
	p.completes(p.active("p1", first))
	p.until("p1 waits", p.is("p1", first, slotWaiting))
	p.completes(p.active("p2", second))
	p.until("both are idle", func() bool { return p.is("p1", first, slotIdle)() && p.is("p2", second, slotIdle)() })
	return p
}

func joinsSealing(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	a := p.active("p1", "t")
	a.obeys = false
	p.says("p1 is drained")
	p.ask("c", cluster.DrainMember{Member: "p1", On: true})
	p.peer("p2", "1")
	p.until("sealing", p.is("p1", "t", slotSealing))
	p.says("p1 has stopped")
	a.obeys = true
	p.obey(a)
	p.active("p2", "t")
	return p
}

func joinsLate(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t#1", "t#2")
	p.peer("p1", "1")
	p.submit("1", "2")
	p.active("p1", "t#1")
	p.active("p1", "t#2")
	p.says("p2 joins")
	p.start("p2", "1")
	p.until("p2 is offered a part", func() bool { return p.is("p2", "t#1", slotAcking)() || p.is("p2", "t#2", slotAcking)() })
	p.dies("p2")
	p.until("p1 has all again", func() bool {
		return p.is("p1", "t#1", slotActive)() && p.is("p1", "t#2", slotActive)() && p.is("p2", "t#1", slotDead)()
	})
	return p
}

func oneDiesSealing(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t#1", "t#2")
	p.peer("p1", "1")
	p.peer("p2", "1")
	p.submit("1", "2")
	first, second := p.parts()
	a, b := p.active("p1", first), p.active("p2", second)
	a.obeys, b.obeys = false, false
	p.says("the job is killed")
	p.ask("c", cluster.KillJob{Job: "t"})
	p.until("both seal", func() bool { return p.is("p1", first, slotSealing)() && p.is("p2", second, slotSealing)() })
	p.dies("p1")
	p.until("p1 is dead", p.is("p1", first, slotDead))
	p.says("p2 has stopped")
	b.obeys = true
	p.obey(b)
	p.until("p2 is idle", p.is("p2", second, slotIdle))
	return p
}
