package api

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/node"
)

// Sight is what a [Lookout] saw: who is alive, and what fails. It corrects what the value alone says. The zero Sight corrects nothing.
type Sight struct {
	now   time.Time
	beats map[cluster.MemberID]Heartbeat
	runs  map[cluster.PartitionID]failingRun
	// Of runs that fail and did not fit into their member's document.
	moreFailing, moreBackingOff int
}

type failingRun = node.FailingRun

// The states that a [Sight] gives to tasks that the value has as running.
const (
	OwnerSilent = "owner silent" // its owner is probably dead
	Failing     = node.StateFailing
	BackingOff  = node.StateBackingOff
)

// add takes in a member's document. What it says of runs under older tokens is past.
func (s *Sight) add(v cluster.Value, f node.Failing) {
	m := cluster.MemberID(f.Member)
	if _, ok := v.Member(m); !ok || s.beats[m].Lost() {
		return
	}
	failing, backing := 0, 0
	for _, r := range f.Runs {
		switch r.State {
		case Failing:
			failing++
		case BackingOff:
			backing++
		default:
			continue
		}
		if p, ok := v.Partition(r.Partition); ok && p.Owner == m && p.Token == r.Token && p.State == cluster.PartitionGranted {
			s.runs[r.Partition] = r
		}
	}
	if len(f.Runs) >= node.MaxFailing {
		s.moreFailing += max(f.Failing-failing, 0)
		s.moreBackingOff += max(f.BackingOff-backing, 0)
	}
}

// Heartbeats yields those of all members that have one.
func (s Sight) Heartbeats() iter.Seq2[cluster.MemberID, Heartbeat] { return maps.All(s.beats) }

// Members fills in the heartbeats.
func (s Sight) Members(members []Member) {
	for i := range members {
		s.member(&members[i])
	}
}

// member fills in the heartbeat of one member.
func (s Sight) member(m *Member) {
	if h, ok := s.beats[cluster.MemberID(m.Member)]; ok {
		m.Heartbeat = &h
	}
}

// Tasks corrects the states.
func (s Sight) Tasks(tasks []Task) {
	for i := range tasks {
		s.task(&tasks[i])
	}
}

// task corrects the state of one task.
func (s Sight) task(t *Task) {
	if t.State != Running && t.State != Moving {
		return
	}
	if s.beats[cluster.MemberID(t.Owner)].Lost() {
		t.State = OwnerSilent
		return
	}
	r, ok := s.runs[cluster.PartitionID(t.Task)]
	if !ok || uint64(r.Token) != t.Token || t.State != Running {
		return
	}
	t.State, t.Rounds = r.State, r.Rounds
	t.Failures = max(t.Failures, r.Failures)
	if r.Message != "" {
		t.Message = r.Message
	}
}

// Status corrects the sums, and adds who is silent and what fails to the problems: first whoever may be dead, last what fails.
func (s Sight) Status(v cluster.Value, st *Status) {
	var silent []Problem
	for _, m := range slices.Sorted(maps.Keys(s.beats)) {
		if h := s.beats[m]; h.Guardian == "on" {
			st.Members.Guarded++
		} else if h.Unguarded() {
			st.Members.Unguarded++
		}
		if s.beats[m].Slower() {
			st.Members.Slower++
		}
		if h := s.beats[m]; h.Lost() {
			member, _ := v.Member(m)
			n := st.loses(v, m)
			silent = append(silent, Problem{State: h.problem(), Member: string(m), SinceMS: member.SinceMS, Text: h.Text(s.now) + tasksText(n),
				Try: "start it again; or wait, others take over after its TTL"})
		}
	}
	st.Problems = append(silent, st.Problems...)
	if more := len(st.Problems) - MaxProblems; more > 0 {
		st.Problems, st.More = st.Problems[:MaxProblems], st.More+more
	}
	st.fails(s)
}

// problem is the state under which a member that is probably dead is listed.
func (h Heartbeat) problem() string {
	if h.State == HeartbeatGone {
		return h.State
	}
	return HeartbeatSilent
}

func tasksText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; nobody runs its task"
	}
	return fmt.Sprintf("; nobody runs its %d tasks", n)
}

// loses counts a member as silent, and its tasks, and returns how many these are.
func (s *Status) loses(v cluster.Value, m cluster.MemberID) (n int) {
	s.Members.Silent++
	for p := range v.OwnedBy(m) {
		if p.Owner != m || reserved(p.ID) {
			continue
		}
		if was := stateOf(v, p); was == Running || was == Moving {
			s.Tasks.correct(was, OwnerSilent)
			n++
		}
	}
	return n
}

// fails moves what fails from the running to the failing.
func (s *Status) fails(sight Sight) {
	for _, id := range slices.Sorted(maps.Keys(sight.runs)) {
		r := sight.runs[id]
		t := Task{Task: string(id), State: r.State, Rounds: r.Rounds, Failures: r.Failures, Message: r.Message}
		s.tell(Problem{State: r.State, Task: string(id), Text: t.FailureText(), Try: "mend what fails"})
		if reserved(id) {
			continue
		}
		s.Tasks.correct(Running, r.State)
	}
	s.Tasks.Running -= sight.moreFailing + sight.moreBackingOff
	s.Tasks.Failing += sight.moreFailing
	s.Tasks.BackingOff += sight.moreBackingOff
	s.More += sight.moreFailing + sight.moreBackingOff
}

// FailureText says how often a task has failed, and why the last time; "" for one that has not.
func (t *Task) FailureText() string {
	var parts []string
	switch {
	case t.State == Failing && t.Rounds > 0:
		parts = append(parts, fmt.Sprintf("%d of %d rounds", t.Failures, t.Rounds))
	case t.Failures > 1:
		parts = append(parts, fmt.Sprintf("failed %d times", t.Failures))
	case t.Failures == 1:
		parts = append(parts, "failed once")
	}
	if t.Message != "" {
		parts = append(parts, "last: "+t.Message)
	}
	return strings.Join(parts, ", ")
}
