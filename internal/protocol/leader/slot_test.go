package leader

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
)

var update = flag.Bool("update", false, "write golden files and generated documentation")

// book is a value under a leader.
type book struct {
	v   cluster.Value
	seq uint64
}

func (b *book) enter(commands ...cluster.Command) {
	b.seq++
	b.v, _ = b.v.Apply(cluster.Entry{Index: b.v.Index() + 1, Writer: "l", Seq: b.seq, Commands: commands})
}

func opened(members ...cluster.MemberID) *book {
	b := &book{}
	b.enter(cluster.Lead{Member: "a", Term: 1})
	for _, m := range members {
		b.enter(cluster.PrepareJoin{Member: m, Heartbeat: "p", Slots: 1})
	}
	return b
}

func (b *book) part(id cluster.PartitionID) cluster.Partition {
	p, _ := b.v.Partition(id)
	return p
}

func (b *book) accept(id cluster.PartitionID) {
	b.enter(cluster.AcceptOffer{Partition: id, Token: b.part(id).Token})
}

func (b *book) inc(m cluster.MemberID) cluster.Incarnation {
	got, _ := b.v.Member(m)
	return got.Incarnation
}

func job(id cluster.JobID, t cluster.TaskSpec) cluster.Command {
	t.Type = "noop"
	return cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{t}}}
}

// Each transition of the source document, and each that it lacks, one by one.
func TestEachTransition(t *testing.T) {
	t.Parallel()
	noGap := cluster.TaskSpec{Handover: cluster.HandoverNoGap, MaxAttempts: 1}
	parts := cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"1", "2"}}
	leave := func(b *book) { b.enter(cluster.LeaveCluster{Member: "a", Incarnation: b.inc("a")}) }
	confirm := func(b *book) { b.enter(cluster.ConfirmMember{Member: "a", Incarnation: b.inc("a"), Heartbeat: "q"}) }
	revoke := func(b *book) { b.enter(cluster.RevokeOffer{Partition: "t", Token: b.part("t").Token}) }
	kill := func(b *book) { b.enter(cluster.KillJob{Job: "t"}) }
	done := func(id cluster.PartitionID) func(*book) {
		return func(b *book) { b.enter(cluster.FinishPartition{Partition: id, Token: b.part(id).Token}) }
	}
	stopped := func(b *book) { b.enter(cluster.Stopped{Partition: "t", Token: b.part("t").Token}) }
	submit := func(s cluster.TaskSpec) func(*book) { return func(b *book) { b.enter(job("t", s)) } }
	accept := func(b *book) { b.accept("t") }
	idle := func() *book { return opened("a") }
	acking := func() *book { b := opened("a"); submit(cluster.TaskSpec{})(b); return b }
	active := func() *book { b := acking(); accept(b); return b }
	sealing := func() *book { b := active(); kill(b); return b }
	revoked := func() *book { b := acking(); revoke(b); return b }
	waiting := func() *book {
		b := opened("a")
		submit(parts)(b)
		b.accept("t#1")
		done("t#1")(b)
		return b
	}
	taking := func() *book { // t runs on z, which drains: it is to move to a
		b := opened("z")
		submit(noGap)(b)
		accept(b)
		b.enter(cluster.PrepareJoin{Member: "a", Heartbeat: "p"})
		b.enter(cluster.DrainMember{Member: "z", On: true})
		return b
	}
	for _, c := range []struct {
		from, to slotState
		begin    func() *book
		do       func(*book)
		task     cluster.PartitionID
	}{
		{slotIdle, slotAcking, idle, submit(cluster.TaskSpec{}), "t"},
		{slotIdle, slotDead, idle, leave, "t"},
		{slotAcking, slotActive, acking, accept, "t"},
		{slotAcking, slotIdle, acking, kill, "t"},
		{slotAcking, slotIdle, acking,
			func(b *book) { b.enter(cluster.RevokeOffer{Partition: "t", Token: b.part("t").Token, Declined: true}) },
			"t"},
		{slotAcking, slotRevoked, acking, revoke, "t"},
		{slotAcking, slotDead, acking, leave, "t"},
		{slotActive, slotSealing, active, kill, "t"},
		{slotActive, slotIdle, active, done("t"), "t"},
		{slotActive, slotWaiting, func() *book { b := opened("a"); submit(parts)(b); b.accept("t#1"); return b },
			done("t#1"), "t#1"},
		{slotActive, slotDead, active, leave, "t"},
		{slotActive, slotIdle, func() *book { b := opened("a"); submit(noGap)(b); accept(b); return b }, kill, "t"},
		{slotWaiting, slotIdle, func() *book { b := waiting(); b.accept("t#2"); return b }, done("t#2"), "t#1"},
		{slotWaiting, slotIdle, waiting, kill, "t#1"},
		{slotWaiting, slotDead, waiting, leave, "t#1"},
		{slotSealing, slotIdle, sealing, stopped, "t"},
		{slotSealing, slotAcking, func() *book { b := sealing(); submit(cluster.TaskSpec{})(b); return b }, stopped,
			"t"},
		{slotSealing, slotDead, sealing, leave, "t"},
		{slotRevoked, slotAcking, revoked, confirm, "t"},
		{slotRevoked, slotIdle, func() *book { b := revoked(); kill(b); return b }, confirm, "t"},
		{slotRevoked, slotDead, revoked, leave, "t"},
		{slotTaking, slotActive, taking,
			func(b *book) { b.enter(cluster.Started{Partition: "t", Token: b.part("t").NextToken}) }, "t"},
		{slotTaking, slotIdle, taking, kill, "t"},
		{slotTaking, slotDead, taking, leave, "t"},
		{slotDead, slotIdle, func() *book { b := idle(); leave(b); return b },
			func(b *book) { b.enter(cluster.PrepareJoin{Member: "a", Heartbeat: "p"}) }, "t"},
	} {
		b := c.begin()
		from := SlotOf(b.v, "a", c.task)
		if from == slotTaking && SlotOf(b.v, "z", c.task) != slotActive {
			t.Error("who hands it over does not run it any more")
		}
		c.do(b)
		if to := SlotOf(b.v, "a", c.task); from != c.from || to != c.to {
			t.Errorf("%s → %s: it went from %s to %s\n%s", c.from, c.to, from, to, b.v)
		}
		if !allowed(c.from, c.to) {
			t.Errorf("%s → %s is not in the table", c.from, c.to)
		}
	}
}

func allowed(from, to slotState) bool {
	if from == to {
		return true
	}
	for _, t := range Transitions() {
		if t.From == from && t.To == to {
			return true
		}
	}
	return false
}

// Whatever a leader enters, no task makes a transition that the table does not have.
func TestNoOtherTransition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := opened()
		members := []cluster.MemberID{"a", "b"}
		for range rapid.IntRange(5, 60).Draw(rt, "entries") {
			was := b.v
			b.enter(anything(rt, b, members))
			for _, m := range members {
				for _, task := range []cluster.PartitionID{"t", "t#1", "t#2", "u"} {
					if from, to := SlotOf(was, m, task), SlotOf(b.v, m, task); !allowed(from, to) {
						rt.Fatalf("%s on %s went from %s to %s\n%s%s", task, m, from, to, was, b.v)
					}
				}
			}
		}
	})
}

func anything(t *rapid.T, b *book, members []cluster.MemberID) cluster.Command {
	m := rapid.SampledFrom(members).Draw(t, "member")
	id := rapid.SampledFrom([]cluster.PartitionID{"t", "t#1", "t#2", "u"}).Draw(t, "task")
	name, _, _ := id.Split()
	p := b.part(id)
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0:
		return cluster.PrepareJoin{Member: m, Heartbeat: "p", Replaces: b.inc(m)}
	case 1:
		return cluster.LeaveCluster{Member: m, Incarnation: b.inc(m), Hold: rapid.Bool().Draw(t, "hold")}
	case 2, 3:
		spec := cluster.TaskSpec{Handover: cluster.Handover(rapid.IntRange(0, 2).Draw(t, "hand-over")), MaxAttempts: 1}
		if strings.Contains(string(id), "#") {
			spec.Spread, spec.Partitions = cluster.SpreadPartitioned, []string{"1", "2"}
		}
		return job(name, spec)
	case 4:
		return cluster.KillJob{Job: name}
	case 5:
		return cluster.RevokeOffer{Partition: id, Token: p.Token, Declined: rapid.Bool().Draw(t, "declined")}
	case 6:
		return cluster.ConfirmMember{Member: m, Incarnation: b.inc(m), Heartbeat: "q"}
	case 7:
		return cluster.FinishPartition{Partition: id, Token: p.Token,
			Outcome: cluster.Outcome(rapid.IntRange(0, 1).Draw(t, "outcome")), Attempt: p.Attempts}
	case 8:
		return cluster.Stopped{Partition: id, Token: p.Token}
	case 9:
		return cluster.Started{Partition: id, Token: p.NextToken}
	case 10:
		return cluster.DrainMember{Member: m, On: rapid.Bool().Draw(t, "on")}
	}
	return cluster.AcceptOffer{Partition: id, Token: p.Token}
}

// The table in the documentation is the one of the code.
func TestTheTableIsInTheDocs(t *testing.T) {
	t.Parallel()
	const file = "../../../docs/internals/slot-states.md"
	want := "# States of a task on a member, under the protocol leader\n\nGenerated from internal/protocol/leader/slot_test.go by `go test ./internal/protocol/leader -run Docs -update`; each line is tested.\n\n" + slotWords + Table() + answerTable()
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(want), 0o600))
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what the code says (%v): go test ./internal/protocol/leader -run Docs -update", file, err)
	}
}

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
		{slotActive, sayFailed, "FinishPartition",
			"the failure is counted; it runs again after a pause, here or elsewhere, or is parked"},
		{slotTaking, sayStarted, "Started", "the task is active here, and sealing on the former owner"},
		{slotTaking, sayStopped, "Stopped", "the move is undone"},
		{slotSealing, sayStopped, "Stopped",
			"the task is free, and offered to the next one if it has any; the member is idle"},
		{slotSealing, sayDone, "FinishPartition",
			"it was done before it had to stop: it is finished, and not run again"},
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
				if got := fmt.Sprintf("%T",
					(&step{&State{}}).heard("a", p, saying{Task: "t", Token: token, Say: say})); got != want {
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
