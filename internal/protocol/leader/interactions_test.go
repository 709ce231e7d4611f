package leader

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// play is one interaction of the source document "coordinator-internals": a coordinator c, and peers p1 and p2 that run
// tasks.
type play struct {
	*stage
	out  strings.Builder
	was  map[string]slotState
	told []cluster.PartitionID
}

func newPlay(t *testing.T, tasks ...cluster.PartitionID) *play {
	p := &play{stage: newStage(t, "c"), was: make(map[string]slotState), told: tasks}
	p.until("c leads", p.joined("c"))
	p.watched = p.note
	return p
}

// note writes down what has changed.
func (p *play) note() {
	v := p.value()
	for _, m := range []cluster.MemberID{"p1", "p2"} {
		for _, task := range p.told {
			name, now := fmt.Sprintf("%s %s", m, task), SlotOf(v, m, task)
			was, ok := p.was[name]
			if !ok {
				was = slotDead
			}
			if was != now {
				fmt.Fprintf(&p.out, "%s: %s → %s\n", name, was, now)
			}
			p.was[name] = now
		}
	}
}

func (p *play) says(format string, args ...any) { fmt.Fprintf(&p.out, "-- "+format+"\n", args...) }

func (p *play) peer(id cluster.MemberID, nonce string) *actor {
	p.says("%s joins", id)
	a := p.start(id, nonce)
	p.until(string(id)+" has joined", p.joined(id))
	return a
}

// submit submits a batch task for the peers, in so many parts.
func (p *play) submit(parts ...string) {
	p.says("a client submits t")
	spec := cluster.TaskSpec{Type: "noop", Selector: []cluster.Label{{Key: "peer", Value: "yes"}}}
	if len(parts) > 0 {
		spec.Spread, spec.Partitions = cluster.SpreadPartitioned, parts
	}
	p.ask("c", cluster.SubmitJob{Job: "t", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{spec}}})
}

func (p *play) is(m cluster.MemberID, task cluster.PartitionID, state slotState) func() bool {
	return func() bool { return SlotOf(p.value(), m, task) == state }
}

// completes lets the supervisor of a peer say that all it runs is done.
func (p *play) completes(a *actor) {
	p.says("%s completes", a.id)
	var reports []protocol.Report
	for _, g := range a.last.Grants {
		reports = append(reports, protocol.Report{Partition: g.Partition, Token: g.Token, State: protocol.RunFinished,
			Attempt: g.Attempt})
	}
	p.give(a, member.Reported{Now: p.now, Version: a.last.Version, Reports: reports})
}

// dies kills a member, and waits until the tasks that it had are those of a dead one.
func (p *play) dies(id cluster.MemberID, had ...cluster.PartitionID) {
	p.says("%s dies", id)
	p.kill(id)
	for _, task := range had {
		p.until("dead", p.is(id, task, slotDead))
	}
}

func (p *play) lives(id cluster.MemberID) { p.set(p.members[id].Own.Key, "{}") }

func (p *play) active(m cluster.MemberID, task cluster.PartitionID) *actor {
	p.until("it runs", func() bool { return p.is(m, task, slotActive)() && p.members[m].runs(task) })
	return p.members[m]
}

// TestInteractions plays the ten interactions of the document. The golden files have what a reader of the log sees of
// the peers.
func TestInteractions(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*testing.T) *play{
		"1-peer-happy-path":             happyPath,
		"1-peer-times-out-while-acking": timesOut,
		"1-peer-dies-while-acking":      diesAcking,
		"1-peer-dies-while-active":      diesActive,
		"1-peer-dies-while-sealing":     diesSealing,
		"1-peer-dies-while-completing":  diesCompleting,
		"2-peers-1-waits":               oneWaits,
		"2-peers-1-joins-while-sealing": joinsSealing,
		"2-peers-1-joins-late-and-dies": joinsLate,
		"2-peers-1-dies-while-sealing":  oneDiesSealing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := tell(t)
			file := "testdata/interactions/" + name + ".golden"
			if *update {
				must.Succeed(t, os.WriteFile(file, []byte(p.out.String()), 0o600))
			}
			want, err := os.ReadFile(file)
			if err != nil || string(want) != p.out.String() {
				t.Errorf("%v: got\n%s\nwant\n%s", err, p.out.String(), want)
			}
		})
	}
}

// acking is a play in which t was submitted for p1, which has yet to answer; active is one in which it runs t.
func acking(t *testing.T) *play {
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	p.until("offered", p.is("p1", "t", slotAcking), "p1")
	return p
}

func active(t *testing.T) (*play, *actor) {
	p := newPlay(t, "t")
	p.peer("p1", "1")
	p.submit()
	return p, p.active("p1", "t")
}

// parted is a play in which t has two parts, the first of p1 and the second of p2.
func parted(t *testing.T) (p *play, first, second cluster.PartitionID) {
	p = newPlay(t, "t#1", "t#2")
	p.peer("p1", "1")
	p.peer("p2", "1")
	p.submit("1", "2")
	p.until("the parts are given out",
		func() bool { return p.partition("t#1").Owner != "" && p.partition("t#2").Owner != "" })
	if p.partition("t#1").Owner == "p1" {
		return p, "t#1", "t#2"
	}
	return p, "t#2", "t#1"
}

func happyPath(t *testing.T) *play {
	p, a := active(t)
	p.completes(a)
	p.until("idle", p.is("p1", "t", slotIdle))
	return p
}

func timesOut(t *testing.T) *play {
	p := acking(t)
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
	p := acking(t)
	p.dies("p1", "t")
	return p
}

func diesActive(t *testing.T) *play {
	p, _ := active(t)
	p.dies("p1", "t")
	p.peer("p1", "2")
	p.active("p1", "t")
	return p
}

func diesSealing(t *testing.T) *play {
	p, a := active(t)
	a.obeys = false
	p.says("the job is killed")
	p.ask("c", cluster.KillJob{Job: "t"})
	p.until("sealing", p.is("p1", "t", slotSealing))
	p.dies("p1", "t")
	return p
}

func diesCompleting(t *testing.T) *play {
	p, a := active(t)
	p.completes(a)
	p.says("and dies before its mailbox says so")
	p.dies("p1", "t")
	p.peer("p1", "2")
	p.completes(p.active("p1", "t"))
	p.until("idle", p.is("p1", "t", slotIdle))
	return p
}

func oneWaits(t *testing.T) *play {
	p, first, second := parted(t)
	p.completes(p.active("p1", first))
	p.until("p1 waits", p.is("p1", first, slotWaiting))
	p.completes(p.active("p2", second))
	p.until("both are idle", func() bool { return p.is("p1", first, slotIdle)() && p.is("p2", second, slotIdle)() })
	return p
}

func joinsSealing(t *testing.T) *play {
	p, a := active(t)
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
	p := newPlay(t, "t#1", "t#2")
	p.peer("p1", "1")
	p.submit("1", "2")
	p.active("p1", "t#1")
	p.active("p1", "t#2")
	p.says("p2 joins")
	p.start("p2", "1")
	p.until("p2 is offered a part",
		func() bool { return p.is("p2", "t#1", slotAcking)() || p.is("p2", "t#2", slotAcking)() })
	p.dies("p2")
	p.until("p1 has all again", func() bool {
		return p.is("p1", "t#1", slotActive)() && p.is("p1", "t#2", slotActive)() && p.is("p2", "t#1", slotDead)()
	})
	return p
}

func oneDiesSealing(t *testing.T) *play {
	p, first, second := parted(t)
	a, b := p.active("p1", first), p.active("p2", second)
	a.obeys, b.obeys = false, false
	p.says("the job is killed")
	p.ask("c", cluster.KillJob{Job: "t"})
	p.until("both seal", func() bool { return p.is("p1", first, slotSealing)() && p.is("p2", second, slotSealing)() })
	p.dies("p1", first)
	p.says("p2 has stopped")
	b.obeys = true
	p.obey(b)
	p.until("p2 is idle", p.is("p2", second, slotIdle))
	return p
}
