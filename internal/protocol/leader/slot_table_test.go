package leader

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// The states that no head lists.
const (
	slotWaiting slotState = "waiting" // its work is over, others of the same task have yet to stop
	slotRevoked slotState = "revoked" // the offer was taken back: nothing more is offered before the member is confirmed
	slotDead    slotState = "dead"    // the member was removed
)

// Transition is a change of a task's state on a member by one decision of the leader.
type Transition struct {
	From, To slotState
	When     string
}

// Transitions lists all transitions.
func Transitions() []Transition {
	return []Transition{
		{slotIdle, slotAcking, "the leader offers the task to the member"},
		{slotIdle, slotTaking, "a task with hand-over no-gap begins to move to the member"},
		{slotIdle, slotRevoked, "the member left another offer unanswered"},
		{slotIdle, slotDead, "the member dies or leaves"},
		{slotAcking, slotActive, "the leader has entered the member's acceptance in the log"},
		{slotAcking, slotIdle, "the member declines, the job is killed, or another member is offered the task"},
		{slotAcking, slotRevoked, "the member did not answer in time"},
		{slotAcking, slotAcking, "the task is offered again under another token"},
		{slotAcking, slotDead, "the member dies or leaves"},
		{slotActive, slotSealing,
			"the task was finished by another member, was killed, or begins to move: the member has to stop it, and say so"},
		{slotActive, slotWaiting, "the member's part of the job is done, other parts are not"},
		{slotActive, slotIdle, "the task is done, has failed too often, or moved at once, as its hand-over contract allows"},
		{slotActive, slotAcking, "the member was given the task again: it restarted, or the task was submitted again"},
		{slotActive, slotTaking, "the member restarted; another member has the task, which begins to move back"},
		{slotActive, slotRevoked, "as for idle, while the member is revoked"},
		{slotActive, slotDead, "the member dies or leaves"},
		{slotTaking, slotActive, "the member has reported that it runs the task"},
		{slotTaking, slotIdle, "the task ended before the member could take over, or the move was cancelled"},
		{slotTaking, slotAcking, "the former owner died, and the task is offered to the member"},
		{slotTaking, slotRevoked, "as for idle, while the member is revoked"},
		{slotTaking, slotDead, "the member dies or leaves"},
		{slotWaiting, slotIdle, "the job is over"},
		{slotWaiting, slotAcking, "the task was submitted again, and is offered to the member"},
		{slotWaiting, slotRevoked, "as for idle, while the member is revoked"},
		{slotWaiting, slotDead, "the member dies or leaves"},
		{slotSealing, slotIdle, "the member has stopped, and said so"},
		{slotSealing, slotWaiting,
			"the member has finished its part of the job before it had to stop; other parts are not done"},
		{slotSealing, slotAcking, "the member has stopped, and is offered the task again"},
		{slotSealing, slotRevoked, "as for idle, while the member is revoked"},
		{slotSealing, slotDead, "the member dies or leaves"},
		{slotRevoked, slotIdle, "the member was confirmed under another incarnation"},
		{slotRevoked, slotAcking, "the member was confirmed, and is offered the task"},
		{slotRevoked, slotTaking, "the member was confirmed, and a task with hand-over no-gap begins to move to it"},
		{slotRevoked, slotWaiting, "the member was confirmed: its part of the job is done"},
		{slotRevoked, slotDead, "the member dies or leaves"},
		{slotDead, slotIdle, "a member of this name joins"},
		{slotDead, slotAcking, "a member of this name joins, and is offered the task"},
		{slotDead, slotTaking, "a member of this name joins, and a task with hand-over no-gap begins to move to it"},
		{slotDead, slotWaiting, "a member of this name joins, whose part of the job was done before"},
	}
}

// SlotOf is the state of a task on a member, as the value has it.
func SlotOf(v cluster.Value, m cluster.MemberID, task cluster.PartitionID) slotState {
	member, in := v.Member(m)
	if !in || member.State == cluster.MemberHeld {
		return slotDead
	}
	p, _ := v.Partition(task)
	state, _ := stateOf(m, p)
	id, _, _ := task.Split()
	if j, ok := v.Job(id); ok && j.State == cluster.JobRunning && p.State == cluster.PartitionFinished && p.From == m {
		state = slotWaiting
	}
	if member.Revoked && (state == slotIdle || state == slotWaiting) {
		return slotRevoked
	}
	return state
}

// Table is the transitions in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| from | to | when |\n|---|---|---|\n")
	for _, t := range Transitions() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", t.From, t.To, t.When)
	}
	return b.String()
}
