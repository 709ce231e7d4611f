package leader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
)

// slotWords introduces the states in the documents.
const slotWords = "In `sealing` the member has to stop the task: it was finished elsewhere, was killed, or moves. The\n" +
	"member says `stopped` when nothing of it runs any more, and before that the leader gives the task\n" +
	"to nobody else. The end of a flow is another matter, and none of the leader's: its stages seal by\n" +
	"what the queue holds ([decision 42](../decisions/0042-seals-by-positions.md)); `rota job show JOB`\n" +
	"and `rota why JOB/TASK` tell who seals.\n\n"

// answer is what the leader enters in the log when it hears something of a member in a state.
type answer struct {
	State slotState
	Say   sayKind
	Entry string // the type of the command
	Then  string
}

// answers lists all; whatever else is said, or under another token, is not answered.
func answers() []answer {
	return []answer{
		{slotAcking, sayAccept, "AcceptOffer", "the task is active: the member runs it from when it reads this"},
		{slotAcking, sayDecline, "RevokeOffer", "the task is offered to another member"},
		{slotActive, sayDone, "FinishPartition", "the task is finished; the member is idle, or waits for other parts"},
		{slotActive, sayFailed, "FinishPartition", "the failure is counted; it runs again after a pause, here or elsewhere, or is parked"},
		{slotTaking, sayStarted, "Started", "the task is active here, and sealing on the former owner"},
		{slotTaking, sayStopped, "Stopped", "the move is undone"},
		{slotSealing, sayStopped, "Stopped", "the task is free, and offered to the next one if it has any; the member is idle"},
		{slotSealing, sayDone, "FinishPartition", "it was done before it had to stop: it is finished, and not run again"},
	}
}

// The leader answers what the table says, and nothing else.
func TestAnswers(t *testing.T) {
	t.Parallel()
	listed := answers()
	was := cluster.Partition{ID: "t", State: cluster.PartitionAdopting, Owner: "z", Next: "a", NextToken: 7}
	for _, state := range []slotState{slotAcking, slotActive, slotTaking, slotSealing} {
		for _, say := range []sayKind{sayAccept, sayDecline, sayStarted, sayStopped, sayDone, sayFailed} {
			p := slot{taskDoc{Task: "t", Token: 7, State: state}, &slotDoc{Member: "a", Partition: was}}.partition()
			want := "<nil>"
			if len(listed) > 0 && listed[0].State == state && listed[0].Say == say {
				want, listed = "cluster."+listed[0].Entry, listed[1:]
			}
			for token, want := range map[cluster.Token]string{7: want, 6: "<nil>"} {
				if got := fmt.Sprintf("%T", (&step{&State{}}).heard("a", p, saying{Task: "t", Token: token, Say: say})); got != want {
					t.Errorf("%s says %s under token %d: %s, want %s", state, say, token, got, want)
				}
			}
		}
	}
	if len(listed) > 0 {
		t.Errorf("never met: %+v", listed)
	}
}

// answerTable is the answers in Markdown.
func answerTable() string {
	var b strings.Builder
	b.WriteString("\n## What the leader answers\nWhat a member says under another token, or in another state, is not answered.\n\n| state | the member says | entry in the log | then |\n|---|---|---|---|\n")
	for _, a := range answers() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", a.State, a.Say, a.Entry, a.Then)
	}
	return b.String()
}
