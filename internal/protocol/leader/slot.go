package leader

import "github.com/rota-run/rota/cluster"

// slotState is the state of a task on a member, or of the member if it has no task. The states are those of the source document.
type slotState string

// The states.
const (
	slotIdle    slotState = "idle"    // no task
	slotAcking  slotState = "acking"  // offered: the member has yet to answer, and does not run it
	slotActive  slotState = "active"  // it runs
	slotTaking  slotState = "taking"  // no-gap: it starts while the former owner still runs it
	slotSealing slotState = "sealing" // the task is finished or taken away: the member has yet to say that it has stopped
)

// assigned reports whether a head may say so of a task.
func (s slotState) assigned() bool {
	return s == slotAcking || s == slotActive || s == slotTaking || s == slotSealing
}

// stateOf is where a partition is on a member.
func stateOf(m cluster.MemberID, p cluster.Partition) (slotState, cluster.Token) {
	switch {
	case p.Next == m && p.State == cluster.PartitionAdopting:
		return slotTaking, p.NextToken
	case p.Owner != m:
		return slotIdle, 0
	case p.State == cluster.PartitionGranted && p.Offered:
		return slotAcking, p.Token
	case p.State == cluster.PartitionGranted, p.State == cluster.PartitionAdopting:
		return slotActive, p.Token
	case p.State == cluster.PartitionReleasing:
		return slotSealing, p.Token
	}
	return slotIdle, 0
}
