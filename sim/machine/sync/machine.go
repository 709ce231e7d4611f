package sync

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/protocol/sync"
	"github.com/rota-run/rota/sim/machine"
	"github.com/rota-run/rota/store"
)

// Machine is sync.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "sync", Joined: []string{"joined", "apart"}, Faults: faults(), Group: true,
		Start: start, Step: machine.Steps(sync.Step), Act: act, Caller: caller,
		Watches: func(machine.State) ([]string, bool) { return nil, true },
		Events: machine.Events{
			Woken: sync.Woken{}, Log: sync.Hinted{},
			Doc:  func(prefix string) machine.Event { return sync.Hinted{Prefix: prefix} },
			Stop: func(reason string) machine.Event { return sync.Stop{Reason: reason} },
			Reported: func(version uint64, reports []protocol.Report) machine.Event {
				return sync.Reported{Version: version, Reports: reports}
			},
			Proposed: func(id uint64, commands []cluster.Command) machine.Event {
				return sync.Proposed{ID: id, Commands: commands}
			},
		},
		Fold: fold, Encode: encode, Stray: func(*cluster.Value, []store.Doc) string { return "" }, Gap: gap, Recovery: recovery, Describe: describe,
	}
}

func start(s machine.Start) machine.State {
	p := sync.Params{Join: s.Join, Nonce: s.Nonce, TTL: s.TTL, Rho: s.Rho, Margin: s.Margin, Poll: s.Poll, Hold: s.Hold, SnapshotEvery: s.SnapshotEvery}
	return sync.NewState(p.Hinted(s.Hints))
}

func caller(s machine.Start, st machine.Store) machine.Caller {
	return machine.Calls[sync.Effect, sync.Event](sync.NewCaller(&shell.LogCaller{
		Member: s.Join.Member, Store: st, TTL: s.TTL, Logger: slog.New(slog.DiscardHandler), Now: s.Now, Wall: s.Wall,
	}))
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
	switch e := e.(type) {
	case sync.ReadLog, sync.ReadSnapshot, sync.CheckLog:
		return machine.Call{}
	case sync.Append:
		return machine.Call{Write: true}
	case sync.JoinGroup, sync.SyncGroup, sync.LeaveGroup:
		return machine.Call{Write: true, Group: true}
	case sync.Beat:
		return machine.Call{Renew: true, Group: true}
	case sync.SaveSnapshot:
		return machine.Call{Keep: true}
	case sync.WakeAt:
		return machine.Wake{At: e.At}
	case sync.Assign:
		return machine.Assign{Assignment: e.Assignment}
	case sync.Applying:
		return machine.Applied{Value: e.Value}
	case sync.Reply:
		return machine.Reply{ID: e.ID, Results: e.Results}
	case sync.Left:
		return machine.Left{}
	case sync.Halt:
		return machine.Halt{Err: e.Err}
	}
	return machine.Told{}
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
	case sync.Read:
		return fmt.Sprintf("read %d entries, head %d%s", len(e.Page.Records), e.Page.Head, problem(e.Err))
	case sync.Appended:
		return fmt.Sprintf("appended #%d at %d (outcome %d)%s", e.Seq, e.Index, e.Outcome, problem(e.Err))
	case sync.Joined:
		return fmt.Sprintf("in the group as %s, generation %d, leads %t, answer %d%s", e.ID, e.Generation, e.Leads, e.Answer, problem(e.Err))
	case sync.Synced:
		return fmt.Sprintf("synced, answer %d%s", e.Answer, problem(e.Err))
	case sync.Beaten:
		return fmt.Sprintf("beaten, answer %d%s", e.Answer, problem(e.Err))
	case sync.Reported:
		return fmt.Sprintf("supervisor at version %d runs %d", e.Version, len(e.Reports))
	case sync.Append:
		return fmt.Sprintf("append #%d [%s]", e.Entry.Seq, machine.Commands(e.Entry.Commands))
	case sync.JoinGroup:
		return "join the group as " + e.ID
	case sync.Beat:
		return fmt.Sprintf("beat %s in %d", e.Seat.ID, e.Seat.Generation)
	case sync.Assign:
		return fmt.Sprintf("assign version %d: %d grants", e.Assignment.Version, len(e.Assignment.Grants))
	case sync.Halt:
		return "halt: " + e.Err.Error()
	case sync.ReadLog:
		return fmt.Sprintf("read after %d", e.After)
	case sync.Applying:
		return fmt.Sprintf("applied %d entries", len(e.Entries))
	}
	return ""
}

func problem(err string) string {
	if err == "" {
		return ""
	}
	return ": " + err
}
