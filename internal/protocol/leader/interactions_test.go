package leader

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// play is one interaction of the source document "coordinator-internals": a coordinator c, and peers p1 and p2 that run tasks.
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
		reports = append(reports, protocol.Report{Partition: g.Partition, Token: g.Token, State: protocol.RunFinished, Attempt: g.Attempt})
	}
	p.give(a, member.Reported{Now: p.now, Version: a.last.Version, Reports: reports})
}

func (p *play) dies(id cluster.MemberID) {
	p.says("%s dies", id)
	p.kill(id)
}

func (p *play) lives(id cluster.MemberID) { p.set(p.members[id].Own.Key, "{}") }

func (p *play) active(m cluster.MemberID, task cluster.PartitionID) *actor {
	p.until("it runs", func() bool { return p.is(m, task, slotActive)() && p.members[m].runs(task) })
	return p.members[m]
}

// TestInteractions plays the ten interactions of the document. The golden files have what a reader of the log sees of the peers.
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
				if err := os.WriteFile(file, []byte(p.out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || string(want) != p.out.String() {
				t.Errorf("%v: got\n%s\nwant\n%s", err, p.out.String(), want)
			}
		})
	}
}

// parts waits until both parts are offered, and returns that of p1 and that of p2.
func (p *play) parts() (first, second cluster.PartitionID) {
	p.until("the parts are given out", func() bool { return p.partition("t#1").Owner != "" && p.partition("t#2").Owner != "" })
	if p.partition("t#1").Owner == "p1" {
		return "t#1", "t#2"
	}
	return "t#2", "t#1"
}
