package leader

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// Transition is a change of a task's state on a member by one decision of the leader.
type Transition struct {
	From, To SlotState
	When     string
}

// Transitions lists all transitions.
func Transitions() []Transition {
	return []Transition{
		{Idle, Acking, "the leader offers the task to the member"},
		{Idle, Taking, "a task with hand-over no-gap begins to move to the member"},
		{Idle, Revoked, "the member left another offer unanswered"},
		{Idle, Dead, "the member dies or leaves"},
		{Acking, Active, "the leader has entered the member's acceptance in the log"},
		{Acking, Idle, "the member declines, the job is killed, or another member is offered the task"},
		{Acking, Revoked, "the member did not answer in time"},
		{Acking, Acking, "the task is offered again under another token"},
		{Acking, Dead, "the member dies or leaves"},
		{Active, Sealing, "the task was finished by another member, was killed, or begins to move; the member must stop it and report that"},
		{Active, Waiting, "the member's part of the job is done, other parts are not"},
		{Active, Idle, "the task is done, has failed too often, or moved at once, as its hand-over contract allows"},
		{Active, Acking, "the member was given the task again: it restarted, or the task was submitted again"},
		{Active, Taking, "the member restarted; another member has the task, which begins to move back"},
		{Active, Revoked, "as for idle, while the member is revoked"},
		{Active, Dead, "the member dies or leaves"},
		{Taking, Active, "the member has reported that it runs the task"},
		{Taking, Idle, "the task ended before the member could take over, or the move was cancelled"},
		{Taking, Acking, "the former owner died, and the task is offered to the member"},
		{Taking, Revoked, "as for idle, while the member is revoked"},
		{Taking, Dead, "the member dies or leaves"},
		{Waiting, Idle, "the job is over"},
		{Waiting, Acking, "the task was submitted again, and is offered to the member"},
		{Waiting, Revoked, "as for idle, while the member is revoked"},
		{Waiting, Dead, "the member dies or leaves"},
		{Sealing, Idle, "the member has stopped"},
		{Sealing, Waiting, "the member has finished its part of the job before it had to stop; other parts are not done"},
		{Sealing, Acking, "the member has stopped, and is offered the task again"},
		{Sealing, Revoked, "as for idle, while the member is revoked"},
		{Sealing, Dead, "the member dies or leaves"},
		{Revoked, Idle, "the member was confirmed under another incarnation"},
		{Revoked, Acking, "the member was confirmed, and is offered the task"},
		{Revoked, Taking, "the member was confirmed, and a task with hand-over no-gap begins to move to it"},
		{Revoked, Waiting, "the member was confirmed: its part of the job is done"},
		{Revoked, Dead, "the member dies or leaves"},
		{Dead, Idle, "a member of this name joins"},
		{Dead, Acking, "a member of this name joins, and is offered the task"},
		{Dead, Taking, "a member of this name joins, and a task with hand-over no-gap begins to move to it"},
		{Dead, Waiting, "a member of this name joins, whose part of the job was done before"},
	}
}

// SlotOf is the state of a task on a member, as the value has it.
func SlotOf(v cluster.Value, m cluster.MemberID, task cluster.PartitionID) SlotState {
	member, in := v.Member(m)
	if !in || member.State == cluster.MemberHeld {
		return Dead
	}
	p, _ := v.Partition(task)
	state, _ := stateOf(v, m, p)
	if member.Revoked && (state == Idle || state == Waiting) {
		return Revoked
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
