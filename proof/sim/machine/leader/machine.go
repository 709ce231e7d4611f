// Package leader is the protocol leader as a machine for the simulator and the checker. Its phases name also how far a
// member is as a leader.
package leader

import (
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/inside"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is leader.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "leader", Joined: []string{"joined", "claimed", "adopting", "ruling"}, Faults: faults(),
		Start: start, Step: machine.Steps(step), Call: call, Caller: caller,
		Watches: func(s machine.State) ([]string, bool) { return s.(*State).Watching() },
		Fold:    machine.FoldLog, Stray: stray, Gap: gap, Recovery: recovery, Leads: "ruling",
	}
}

// State is a member's, whose phase says also how far it is as a leader.
type State struct{ leader.State }

// Phase is the phase of the rule of a member that is joined and leads, else that of the member.
func (s *State) Phase() string {
	if rule := inside.Into(&s.State).At("rule.at").Number(); s.Is == member.PhaseMember && rule > 0 {
		return [...]string{"", "claimed", "adopting", "ruling"}[rule]
	}
	return [...]string{"", "claim", "heartbeat", "join", "joined", "confirm", "removed", "leaving", "gone",
		"halted"}[s.Is]
}

// faults are what can hit a member of leader, and in which phases. The two ends of a run that rewrite the log are not
// among them: plain members do not read it.
func faults() []machine.Fault {
	works := []string{"joined", "ruling"}
	whole := []string{machine.Cluster}
	return machine.Table(machine.Phases{
		All: []string{"claim", "heartbeat", "join", "joined", "claimed", "adopting", "ruling", "confirm",
			"removed", "leaving"},
		Writes: []string{"heartbeat", "join", "joined", "claimed", "ruling", "confirm", "leaving"},
		Renews: works,
		Looks:  works,
		Begins: []string{"heartbeat", "confirm"},
		Told:   []string{"join", "joined", "ruling", "leaving"},
		Lists:  []string{"joined", "adopting", "ruling"},
		Leaves: []string{"claim", "heartbeat", "join", "joined", "claimed", "adopting", "ruling", "confirm",
			"removed"},
		Doubled: []string{"join", "joined", "ruling", "confirm", "leaving"},
		Runs:    works,
		Stops:   []string{"joined", "ruling", "confirm", "leaving"},
		Parts:   []string{"ruling"},
		Guarded: []string{"join", "joined", "ruling", "confirm", "leaving"},

		Sessions: whole,
		Log:      whole,
		Leaders:  whole,
	})
}

// stray is a heartbeat, a mailbox, a head or an assignment of somebody who is no member.
func stray(v *cluster.Value, docs []store.Doc) string {
	for _, d := range docs {
		for _, prefix := range []string{leader.MailboxPrefix, leader.AssignPrefix, leader.HeadPrefix} {
			rest, ok := strings.CutPrefix(d.Key, prefix)
			id, _, _ := strings.Cut(rest, "/")
			if _, member := v.Member(cluster.MemberID(id)); ok && !member {
				return d.Key
			}
		}
	}
	return machine.StrayHeartbeat(v, docs)
}

func start(s machine.Start) machine.State {
	return &State{leader.NewState(s.Params, leader.Role{Offer: 2 * s.TTL, StandBys: 2})}
}

func step(s *State, ev member.Event) []member.Effect { return leader.Step(&s.State, ev) }

func caller(s machine.Start, st machine.Store) machine.Caller {
	c := &leader.Caller{LogCaller: machine.LogCaller(s, st)}
	c.Tied = leader.Tied(s.Member)
	return c
}

func call(e machine.Effect) (machine.Call, bool) {
	switch e := e.(type) {
	case leader.Get:
		return machine.Call{Looks: strings.HasPrefix(e.Key, protocol.HeartbeatPrefix),
			Whom: machine.Owner(e.Key, protocol.HeartbeatPrefix)}, true
	case leader.List:
		return machine.Call{List: true}, true
	case leader.Put:
		return machine.Call{Write: true, Part: strings.HasPrefix(e.Key, leader.AssignPrefix)}, true
	case leader.Delete:
		return machine.Call{Write: true}, true
	}
	return machine.Shared(e)
}

// gap is G4: T(1+ρ) of silence, of the leader and of its tasks at once; the looks of an election, of adoption, of an
// offer and its answer.
func gap(t machine.Times, k machine.Kind) time.Duration {
	return t.Gap(k, 20*t.Poll+40*t.Slowest, t.TTL*1050/1000)
}

// recovery is G9: a silence until the dead leader is followed, one until the dead members are found by its successor,
// one until those who start under their names may, one for an offer that was not answered; and for each the looks and
// calls of an election, of adoption, of an offer and its answer.
func recovery(t machine.Times) time.Duration {
	return 4*t.TTL*1050/1000 + 60*t.Poll + 80*t.Slowest
}
