package lease

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/kernel"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is lease.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "lease", Joined: []string{"joined", "leader"}, Faults: faults(),
		Start: start, Step: machine.Steps(lease.Step), Act: act, Caller: caller,
		Watches: func(s machine.State) ([]string, bool) { return s.(*lease.State).Watched(), false },
		Events: machine.Events{
			Woken: member.Woken{}, Log: member.Woken{},
			Doc:  func(prefix string) machine.Event { return member.Hinted{Prefix: prefix} },
			Stop: func(reason string) machine.Event { return member.Stop{Reason: reason} },
			Reported: func(version uint64, reports []protocol.Report) machine.Event {
				return member.Reported{Version: version, Reports: reports}
			},
			Proposed: func(id uint64, commands []cluster.Command) machine.Event {
				return member.Proposed{ID: id, Commands: commands}
			},
		},
		Truth: truth, Stray: stray, Gap: gap, Recovery: recovery, Notice: notice, Describe: describe,
	}
}

func start(s machine.Start) machine.State {
	state := lease.NewState(lease.Params{Params: kernel.Params(s), Polled: !s.Hints})
	return &state
}

func caller(s machine.Start, st machine.Store) machine.Caller {
	c := &lease.Caller{BeatCaller: kernel.BeatCaller(s, st)}
	c.Fenced = true
	return machine.Calls[member.Effect, member.Event](c)
}

// truth is what the documents say after a change of one of them.
func truth() machine.Truth {
	var mu sync.Mutex // walks of one state and another share what is decoded
	var a lease.Assembler
	return func(before cluster.Value, docs func() []store.Doc, key string) machine.Change {
		for _, prefix := range [...]string{"lock/", "node/", "view/", "protocol", "position/", "journal/"} {
			if strings.HasPrefix(key, prefix) {
				return machine.Change{After: before}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		return machine.Change{After: a.Assemble(docs())}
	}
}

func act(e machine.Effect) machine.Act {
	switch e := e.(type) {
	case lease.Fetch:
		for _, k := range e.Keys {
			if strings.HasPrefix(k, "node/") {
				return machine.Call{Looks: true, Whom: owner(k), Reads: len(e.Keys) > 1}
			}
		}
		return machine.Call{Reads: len(e.Keys) > 1}
	case lease.Survey:
		return machine.Call{List: true, Looks: true, Reads: true}
	case lease.Write:
		return machine.Call{Write: true, Takes: e.Doc.Key == "config"}
	case lease.ReadView:
		return machine.Call{}
	case lease.Show:
		return machine.Call{Write: true}
	case member.Applying: // the value has no index of its own to be compared by
		return machine.Told{}
	}
	return kernel.Act(e)
}

// owner of a heartbeat.
func owner(key string) cluster.MemberID {
	id, _, _ := strings.Cut(strings.TrimPrefix(key, "node/"), "/")
	return cluster.MemberID(id)
}

// stray is a partition of no job.
func stray(v *cluster.Value, docs []store.Doc) string {
	for _, d := range docs {
		if job, ok := lease.JobOf(d); ok {
			if _, there := v.Job(job); !there {
				return d.Key
			}
		}
	}
	return ""
}

// notice: two members at once take themselves for the leader.
func notice(phases []string) machine.Kind {
	n := 0
	for _, p := range phases {
		if p == "leader" {
			n++
		}
	}
	if n > 1 {
		return machine.TwoLeaders
	}
	return ""
}

// gap is G4: T(1+ρ) of silence, twice where the leader went too with its rank's delay; then the looks of the leader, of its pass, of the board and of the claim.
func gap(t machine.Times, k machine.Kind) time.Duration {
	d := 14*t.Poll + 20*t.Slowest
	if k == machine.LeaveInOrder || k == machine.Crash && t.Vanishes {
		return d
	}
	return d + 2*t.TTL*1050/1000
}

// recovery is G9: as gap, and the back-off of runs that failed, and the patience with whoever may claim first.
func recovery(t machine.Times) time.Duration {
	return 4*t.TTL*1050/1000 + 60*t.Poll + 80*t.Slowest
}

func describe(x any) string {
	switch e := x.(type) {
	case lease.Fetched:
		s := fmt.Sprintf("fetched #%d", e.ID)
		for _, d := range e.Docs {
			s += fmt.Sprintf(" %s@%q", d.Key, d.Version)
		}
		return s + kernel.Problem(e.Err)
	case lease.Surveyed:
		return fmt.Sprintf("surveyed %d documents%s", len(e.Docs), kernel.Problem(e.Err))
	case lease.Written:
		return fmt.Sprintf("written #%d (outcome %d) %q%s", e.ID, e.Outcome, e.Version, kernel.Problem(e.Err))
	case lease.Fetch:
		return fmt.Sprintf("fetch #%d %s", e.ID, strings.Join(e.Keys, " "))
	case lease.Write:
		return fmt.Sprintf("write #%d %s over %q (delete %v) %s", e.ID, e.Doc.Key, e.Doc.Version, e.Delete, e.Doc.Value)
	case member.Removing:
		return "removed: " + e.Reason
	case member.Applying:
		s := "applied"
		for _, d := range e.Deeds {
			s += fmt.Sprintf("; %v %v", d.Command, d.Result)
		}
		return s
	}
	return kernel.Describe(x)
}
