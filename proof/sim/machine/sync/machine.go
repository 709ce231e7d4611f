package sync

import (
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/sync"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/kernel"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is sync.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "sync", Joined: []string{"joined", "apart"}, Faults: faults(), Group: true,
		Start: start, Step: machine.Steps(sync.Step), Act: act, Caller: caller,
		Watches: func(machine.State) ([]string, bool) { return nil, true },
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
		Fold: fold, Encode: encode, Stray: func(*cluster.Value, []store.Doc) string { return "" }, Gap: gap, Recovery: recovery, Describe: describe,
	}
}

func start(s machine.Start) machine.State {
	p := kernel.Params(s)
	p.Longest = min(s.Longest, 2*s.TTL)
	state := sync.NewState(p.Hinted(s.Hints))
	return &state
}

func caller(s machine.Start, st machine.Store) machine.Caller {
	return machine.Calls[member.Effect, member.Event](sync.NewCaller(kernel.LogCaller(s, st)))
}

// fold is the truth behind a record.
func fold(before cluster.Value, r store.Record) (machine.Change, error) {
	r.Data = sync.Binary(r.Data)
	return machine.FoldLog(before, r)
}

func encode(e cluster.Entry) []byte {
	b, err := sync.EncodeRecord(e, "none")
	if err != nil {
		panic(err) // the simulator says only what a record can
	}
	return b
}

func act(e machine.Effect) machine.Act {
	switch e.(type) {
	case sync.Append:
		return machine.Call{Write: true}
	case sync.JoinGroup, sync.SyncGroup, sync.LeaveGroup:
		return machine.Call{Write: true, Group: true}
	case sync.Beat:
		return machine.Call{Renew: true, Group: true}
	}
	return kernel.Act(e)
}

// gap is G4: the TTL until the group has removed the silent one, twice where a change of the group waits for it first; an eighth of it until the others hear
// of that; a poll until the epoch is announced, and one until it is read.
func gap(t machine.Times, k machine.Kind) time.Duration {
	d := 4*t.Poll + 12*t.Slowest
	if k == machine.LeaveInOrder {
		return d + t.TTL/2
	}
	return d + 2*t.TTL + t.TTL/2
}

// recovery is G9: two changes of the group, one after the other, and the back-off of runs that failed.
func recovery(t machine.Times) time.Duration {
	return 5*t.TTL + 40*t.Poll + 40*t.Slowest
}

func describe(x any) string {
	switch e := x.(type) {
	case sync.Joined:
		return fmt.Sprintf("in the group as %s, generation %d, leads %t, answer %d%s", e.ID, e.Generation, e.Leads, e.Answer, kernel.Problem(e.Err))
	case sync.Synced:
		return fmt.Sprintf("synced, answer %d%s", e.Answer, kernel.Problem(e.Err))
	case sync.Beaten:
		return fmt.Sprintf("beaten, answer %d%s", e.Answer, kernel.Problem(e.Err))
	case sync.Append:
		return fmt.Sprintf("append #%d [%s]", e.Entry.Seq, machine.Commands(e.Entry.Commands))
	case sync.JoinGroup:
		return "join the group as " + e.ID
	case sync.Beat:
		return fmt.Sprintf("beat %s in %d", e.Seat.ID, e.Seat.Generation)
	}
	return kernel.Describe(x)
}
