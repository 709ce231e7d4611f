package replica

import (
	"path"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is replica.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "replica", Joined: []string{"joined"}, Faults: faults(),
		Start: start, Step: machine.Steps(replica.Step), Call: call, Caller: caller, Watches: watches,
		Fold: machine.FoldLog, Stray: stray, Gap: gap, Recovery: recovery,
	}
}

// faults are those of the standard table, in the phases of a member of replica.
func faults() []machine.Fault {
	joined := []string{"joined"}
	return append(machine.Table(machine.Phases{
		All:     []string{"reading", "claim", "heartbeat", "join", "prepared", "joined", "confirm", "removed", "leaving"},
		Writes:  []string{"heartbeat", "join", "prepared", "joined", "confirm", "leaving"},
		Renews:  joined,
		Looks:   joined,
		Begins:  []string{"heartbeat", "confirm"},
		Told:    []string{"prepared", "joined", "leaving"},
		Lists:   []string{"prepared", "joined"},
		Leaves:  []string{"reading", "claim", "heartbeat", "join", "prepared", "joined", "confirm", "removed"},
		Doubled: []string{"prepared", "joined", "confirm", "leaving"},
		Runs:    joined,
		Stops:   []string{"joined", "confirm", "leaving"}, // a removed member has lapsed, and so stopped, before
	}), machine.Guardians([]string{"join", "prepared", "joined", "confirm", "leaving"})...)
}

func start(s machine.Start) machine.State {
	p := replica.Params{Params: machine.Params(s)}
	state := replica.NewState(p.Hinted(s.Hints, s.Hints && s.Sessions, s.Expire))
	return &state
}

func caller(s machine.Start, st machine.Store) machine.Caller {
	return replica.NewCaller(machine.LogCaller(s, st))
}

// watches: the successor's heartbeat.
func watches(s machine.State) ([]string, bool) {
	key := s.(*replica.State).Watching()
	if key == "" {
		return nil, true
	}
	return []string{path.Dir(key) + "/"}, true
}

func call(e machine.Effect) (machine.Call, bool) {
	switch e := e.(type) {
	case replica.DropHeartbeat:
		return machine.Call{}, true
	case replica.CheckHeartbeat:
		return machine.Call{Looks: true, Whom: owner(e.Key)}, true
	case replica.ListHeartbeats:
		return machine.Call{List: true}, true
	}
	return machine.Shared(e)
}

// owner of a heartbeat.
func owner(key string) cluster.MemberID {
	id, _, _ := strings.Cut(strings.TrimPrefix(key, protocol.HeartbeatPrefix), "/")
	return cluster.MemberID(id)
}

// stray is a heartbeat of nobody.
func stray(v *cluster.Value, docs []store.Doc) string {
	owned := map[string]bool{}
	for m := range v.Members() {
		owned[m.Heartbeat] = true
	}
	for _, d := range docs {
		if strings.HasPrefix(d.Key, protocol.HeartbeatPrefix) && !owned[d.Key] {
			return d.Key
		}
	}
	return ""
}

// gap is G4: T(1+ρ) of silence, a poll until the last heartbeat is seen, one until the silence is noticed, one until the entry is read; and the
// calls for it. Where the kernel tells, or the member itself, there is no silence.
func gap(t machine.Times, k machine.Kind) time.Duration {
	d := 4*t.Poll + 8*t.Slowest
	if k == machine.LeaveInOrder || k == machine.Crash && t.Vanishes {
		return d
	}
	return d + t.TTL*1050/1000
}

// recovery is G9: one silence until the dead are out of the way of those who start under their names, one until those nobody watched are
// found, and the back-off of runs that failed.
func recovery(t machine.Times) time.Duration {
	return 3*t.TTL*1050/1000 + 40*t.Poll + 40*t.Slowest
}
