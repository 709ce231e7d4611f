package leader

import "github.com/rota-run/rota/cluster"

// SlotState is the state of a task on a member, or of the member if it has no task. The states are those of the source document.
type SlotState string

// The states.
const (
	Idle    SlotState = "idle"    // no task
	Acking  SlotState = "acking"  // offered: the member has yet to answer, and does not run it
	Active  SlotState = "active"  // it runs
	Taking  SlotState = "taking"  // no-gap: it starts while the former owner still runs it
	Waiting SlotState = "waiting" // its work is over, others of the same task have yet to stop
	Sealing SlotState = "sealing" // the task is finished or taken away: the member has yet to say that it has stopped
	Revoked SlotState = "revoked" // the offer was taken back: nothing more is offered before the member is confirmed
	Dead    SlotState = "dead"    // the member was removed
)

// assigned reports whether a document of an assignment may say so.
func (s SlotState) assigned() bool {
	return s == Acking || s == Active || s == Taking || s == Sealing
}

// stateOf is where a partition is on a member.
func stateOf(v cluster.Value, m cluster.MemberID, p cluster.Partition) (SlotState, cluster.Token) {
	switch {
	case p.Next == m && p.State == cluster.PartitionAdopting:
		return Taking, p.NextToken
	case p.State == cluster.PartitionFinished && p.From == m && running(v, p.ID):
		return Waiting, p.Token
	case p.Owner != m:
		return Idle, 0
	case p.State == cluster.PartitionGranted && p.Offered:
		return Acking, p.Token
	case p.State == cluster.PartitionGranted, p.State == cluster.PartitionAdopting:
		return Active, p.Token
	case p.State == cluster.PartitionReleasing:
		return Sealing, p.Token
	}
	return Idle, 0
}

func running(v cluster.Value, p cluster.PartitionID) bool {
	id, _, _ := p.Split()
	j, ok := v.Job(id)
	return ok && j.State == cluster.JobRunning
}
