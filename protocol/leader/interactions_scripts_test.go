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
	p.until("idle", p.is("p1", "t", Idle))
	return p
}

func timesOut(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	p.until("offered", p.is("p1", "t", Acking), "p1")
	p.says("p1 does not answer, and its session lives")
	for !p.is("p1", "t", Revoked)() {
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
	p.until("offered", p.is("p1", "t", Acking), "p1")
	p.dies("p1")
	p.until("dead", p.is("p1", "t", Dead))
	return p
}

func diesActive(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	p.active("p1", "t")
	p.dies("p1")
	p.until("dead", p.is("p1", "t", Dead))
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
	p.until("sealing", p.is("p1", "t", Sealing))
	p.dies("p1")
	p.until("dead", p.is("p1", "t", Dead))
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
	p.until("dead", p.is("p1", "t", Dead))
	p.peer("p1", "2")
	p.completes(p.active("p1", "t"))
	p.until("idle", p.is("p1", "t", Idle))
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
	p.until("p1 waits", p.is("p1", first, Waiting))
	p.completes(p.active("p2", second))
	p.until("both are idle", func() bool { return p.is("p1", first, Idle)() && p.is("p2", second, Idle)() })
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
	p.until("sealing", p.is("p1", "t", Sealing))
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
	p.until("p2 is offered a part", func() bool { return p.is("p2", "t#1", Acking)() || p.is("p2", "t#2", Acking)() })
	p.dies("p2")
	p.until("p1 has all again", func() bool {
		return p.is("p1", "t#1", Active)() && p.is("p1", "t#2", Active)() && p.is("p2", "t#1", Dead)()
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
	p.until("both seal", func() bool { return p.is("p1", first, Sealing)() && p.is("p2", second, Sealing)() })
	p.dies("p1")
	p.until("p1 is dead", p.is("p1", first, Dead))
	p.says("p2 has stopped")
	b.obeys = true
	p.obey(b)
	p.until("p2 is idle", p.is("p2", second, Idle))
	return p
}
