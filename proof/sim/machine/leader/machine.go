package leader

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/kernel"
	"github.com/rota-run/rota/protocol"
)

// Machine is leader.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "leader", Joined: []string{"joined", "claimed", "adopting", "ruling"}, Faults: faults(),
		Start: start, Step: machine.Steps(step), Act: act, Caller: caller, Watches: func(s machine.State) ([]string, bool) { return s.(*State).Watching() },
		Events: machine.Events{
			Woken: member.Woken{}, Log: member.Hinted{},
			Doc:  func(prefix string) machine.Event { return member.Hinted{Prefix: prefix} },
			Stop: func(reason string) machine.Event { return member.Stop{Reason: reason} },
			Reported: func(version uint64, reports []protocol.Report) machine.Event {
				return member.Reported{Version: version, Reports: reports}
			},
			Proposed: func(id uint64, commands []cluster.Command) machine.Event {
				return member.Proposed{ID: id, Commands: commands}
			},
		},
		Fold: machine.FoldLog, Stray: stray, Gap: gap, Recovery: recovery, Notice: notice, Describe: describe,
	}
}

// State is a member's, whose phase says also how far it is as a leader.
type State struct{ leader.State }

// Phase is the phase of the rule of a member that is joined and leads, else that of the member.
func (s *State) Phase() string {
	phase := s.State.Phase()
	if rule := s.Rule(); phase == "joined" && rule != "none" {
		return rule
	}
	return phase
}

func start(a machine.Start) machine.State {
	return &State{leader.NewState(leader.Params{
		Params: kernel.Params(a), Role: leader.Role{Offer: 2 * a.TTL, StandBys: 2, Hints: a.Hints, Vanish: a.Hints && a.Sessions && a.Expire},
	})}
}

func step(s *State, ev member.Event) []member.Effect { return leader.Step(&s.State, ev) }

func caller(s machine.Start, st machine.Store) machine.Caller {
	c := &leader.Caller{LogCaller: kernel.LogCaller(s, st)}
	c.Tied = leader.Tied(s.Join.Member)
	return machine.Calls[member.Effect, member.Event](c)
}

func act(e machine.Effect) machine.Act {
	switch e := e.(type) {
	case leader.Get:
		id, _, _ := strings.Cut(strings.TrimPrefix(e.Key, protocol.HeartbeatPrefix), "/")
		return machine.Call{Looks: strings.HasPrefix(e.Key, protocol.HeartbeatPrefix), Whom: cluster.MemberID(id)}
	case leader.List:
		return machine.Call{List: true}
	case leader.Put:
		return machine.Call{Write: true, Part: strings.HasPrefix(e.Key, leader.AssignPrefix)}
	case leader.Delete:
		return machine.Call{Write: true}
	case member.Applying:
		if e.Value.Chain() == 0 { // of an excerpt
			return machine.Told{}
		}
	}
	return kernel.Act(e)
}

// notice: two members at once take themselves for the leader.
func notice(phases []string) machine.Kind {
	n := 0
	for _, p := range phases {
		if p == "ruling" {
			n++
		}
	}
	if n > 1 {
		return machine.TwoLeaders
	}
	return ""
}

// gap is G4: T(1+ρ) of silence, of the leader and of its tasks at once; the looks of an election, of adoption, of an offer and its answer.
func gap(t machine.Times, k machine.Kind) time.Duration {
	d := 20*t.Poll + 40*t.Slowest
	if k == machine.LeaveInOrder || k == machine.Crash && t.Vanishes {
		return d
	}
	return d + t.TTL*1050/1000
}

// recovery is G9: a silence until the dead leader is followed, one until the dead members are found by its successor, one until those who start under their
// names may, one for an offer that was not answered; and for each the looks and calls of an election, of adoption, of an offer and its answer.
func recovery(t machine.Times) time.Duration {
	return 4*t.TTL*1050/1000 + 60*t.Poll + 80*t.Slowest
}

func describe(x any) string {
	switch e := x.(type) {
	case leader.Got:
		return fmt.Sprintf("got %s at %q: %s%s", e.Doc.Key, e.Doc.Version, machine.AppendText(nil, e.Doc.Value), kernel.Problem(e.Err))
	case leader.Listed:
		return fmt.Sprintf("%d below %s%s", len(e.Docs), e.Prefix, kernel.Problem(e.Err))
	case leader.Wrote:
		return fmt.Sprintf("wrote %s at %q (outcome %d)%s", e.Key, e.Version, e.Outcome, kernel.Problem(e.Err))
	case member.Hinted:
		return "hint at " + e.Prefix
	case leader.Get:
		return "get " + e.Key
	case leader.List:
		return "list " + e.Prefix
	case leader.Put:
		return fmt.Sprintf("put %s over %q: %s", e.Key, e.Version, machine.AppendText(nil, e.Doc))
	case leader.Delete:
		return fmt.Sprintf("delete %s at %q", e.Key, e.Version)
	}
	return kernel.Describe(x)
}
