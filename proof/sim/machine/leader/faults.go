package leader

import (
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// faults are those of the standard table, and what only a leader can do. The two ends of a run that rewrite the log are not among them: plain members
// do not read it.
func faults() []machine.Fault {
	all := []string{"claim", "heartbeat", "join", "joined", "claimed", "adopting", "ruling", "confirm", "removed", "leaving"}
	works := []string{"joined", "ruling"}
	table := machine.Table(machine.Phases{
		All:     all,
		Writes:  []string{"heartbeat", "join", "joined", "claimed", "ruling", "confirm", "leaving"},
		Renews:  works,
		Looks:   works,
		Begins:  []string{"heartbeat", "confirm"},
		Told:    []string{"join", "joined", "ruling", "leaving"},
		Lists:   []string{"joined", "adopting", "ruling"},
		Leaves:  []string{"claim", "heartbeat", "join", "joined", "claimed", "adopting", "ruling", "confirm", "removed"},
		Doubled: []string{"join", "joined", "ruling", "confirm", "leaving"},
		Runs:    works,
		Stops:   []string{"joined", "ruling", "confirm", "leaving"},
		Parts:   []string{"ruling"},
	})
	table = append(table, machine.Fault{Kind: machine.TwoLeaders, Phases: []string{machine.Cluster}})
	table = append(table, machine.Guardians([]string{"join", "joined", "ruling", "confirm", "leaving"})...)
	return machine.Without(table, machine.TailLost, machine.NewerEntry)
}

// stray is a heartbeat, a mailbox, a head or an assignment of somebody who is no member.
func stray(v *cluster.Value, docs []store.Doc) string {
	owned := map[string]bool{}
	for m := range v.Members() {
		owned[m.Heartbeat] = true
	}
	for _, d := range docs {
		if strings.HasPrefix(d.Key, protocol.HeartbeatPrefix) && !owned[d.Key] {
			return d.Key
		}
		for _, prefix := range []string{leader.MailboxPrefix, leader.AssignPrefix, leader.HeadPrefix} {
			rest, ok := strings.CutPrefix(d.Key, prefix)
			id, _, _ := strings.Cut(rest, "/")
			if _, member := v.Member(cluster.MemberID(id)); ok && !member {
				return d.Key
			}
		}
	}
	return ""
}
