package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// Plan is what would come of members that go.
type Plan struct {
	Without []string     `json:"without"`
	Tasks   int          `json:"tasks"` // partitions that run now, without those on slots
	Moves   []PlanMove   `json:"moves"`
	Waits   []PlanWait   `json:"waits"` // what runs now and would wait
	Ends    int          `json:"ends"`  // partitions of spread every, which go with their member
	Members []PlanMember `json:"members"`
	Slots   []PlanSlots  `json:"slots"` // tasks of spread pool that would have another number of slots
}

// PlanMove is one partition that would move.
type PlanMove struct {
	Task string `json:"task"`
	From string `json:"from"`
	To   string `json:"to"`
}

// PlanWait is something that would not run, and why.
type PlanWait struct {
	Task   string  `json:"task"`
	From   string  `json:"from,omitempty"`
	Reason *Reason `json:"reason,omitempty"`
}

// PlanMember is what one member would run.
type PlanMember struct {
	Member string `json:"member"`
	State  string `json:"state"` // joined, draining
	Weight int64  `json:"weight"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// PlanSlots is how many slots a task of spread pool would have.
type PlanSlots struct {
	Task   string `json:"task"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// PlanWithout says what would come of the value if these members went: it is asked of the same function that every
// member folds. What is already on its way is taken for done, and each hand-over too, all that can be at once: where
// several outcomes are equally good, the order in which work really stops may lead to another of them.
func PlanWithout(v cluster.Value, without []cluster.MemberID) (Plan, error) {
	var leaves []cluster.Command
	for _, id := range without {
		m, ok := v.Member(id)
		if !ok {
			return Plan{}, fmt.Errorf("plan without %s: there is no such member", id)
		}
		if m.State == cluster.MemberHeld { // it has left: what waits for it goes
			leaves = append(leaves, cluster.ReleaseHold{Member: id, Incarnation: m.Incarnation})
			continue
		}
		leaves = append(leaves, cluster.LeaveCluster{Member: id, Incarnation: m.Incarnation, Reason: "planned"})
	}
	before := settled(v)
	after := settled(what(before, leaves))
	p := Plan{Without: []string{}, Moves: []PlanMove{}, Waits: []PlanWait{}, Members: []PlanMember{},
		Slots: []PlanSlots{}}
	for _, id := range without {
		p.Without = append(p.Without, string(id))
	}
	p.partitions(before, after, without)
	p.members(before, after)
	p.slots(before, after)
	return p, nil
}

// what applies commands as one entry: the leader's, where no other writer may decide.
func what(v cluster.Value, commands []cluster.Command) cluster.Value {
	writer, seq := cluster.WriterID("rota.plan"), uint64(v.Index()+1)
	if l, ok := v.Leader(); ok {
		writer, seq = l.Writer, v.Wrote(l.Writer)+1
	}
	next, _ := v.Apply(cluster.Entry{Index: v.Index() + 1, Writer: writer, Seq: seq, Commands: commands})
	return next
}

// settleLimit bounds the rounds of a settling; each ends hand-overs, and what they make room for.
const settleLimit = 100_000

// settled is the value after all hand-overs.
func settled(v cluster.Value) cluster.Value {
	for range settleLimit {
		var done []cluster.Command
		for p := range v.Partitions() {
			switch p.State {
			case cluster.PartitionReleasing:
				done = append(done, cluster.Stopped{Partition: p.ID, Token: p.Token})
			case cluster.PartitionAdopting:
				done = append(done, cluster.Started{Partition: p.ID, Token: p.NextToken})
			}
		}
		if len(done) == 0 {
			return v
		}
		v = what(v, done)
	}
	return v
}

// partitions compares who owns what.
func (p *Plan) partitions(before, after cluster.Value, without []cluster.MemberID) {
	for was := range before.Partitions() {
		freed := was.State == cluster.PartitionHeld && slices.Contains(without, was.Owner)
		if was.ID.Reserved() || was.Slot != 0 || was.State != cluster.PartitionGranted && !freed {
			continue
		}
		p.Tasks++
		switch now, ok := after.Partition(was.ID); {
		case !ok && slices.Contains(without, was.Owner):
			p.Ends++
		case now.State != cluster.PartitionGranted:
			p.Waits = append(p.Waits, PlanWait{string(was.ID), string(was.Owner), reasonOf(after, was.ID)})
		case now.Owner != was.Owner:
			p.Moves = append(p.Moves, PlanMove{string(was.ID), string(was.Owner), string(now.Owner)})
		}
	}
}

// members compares what the members that stay would run.
func (p *Plan) members(before, after cluster.Value) {
	had, has := ownedCounts(before), ownedCounts(after)
	for m := range after.Members() {
		p.Members = append(p.Members, PlanMember{string(m.ID), memberState(m), weightOf(m), had[m.ID], has[m.ID]})
	}
}

// ownedCounts are how many partitions each member runs, without those on slots.
func ownedCounts(v cluster.Value) map[cluster.MemberID]int {
	out := make(map[cluster.MemberID]int)
	for p := range v.Partitions() {
		if p.State == cluster.PartitionGranted && p.Slot == 0 && !p.ID.Reserved() {
			out[p.Owner]++
		}
	}
	return out
}

// slots compares the slots of tasks, and says of those that would have none why.
func (p *Plan) slots(before, after cluster.Value) {
	had, has := slotCounts(before), slotCounts(after)
	both := maps.Clone(had)
	maps.Copy(both, has)
	for _, task := range slices.Sorted(maps.Keys(both)) {
		if had[task] == has[task] {
			continue
		}
		p.Slots = append(p.Slots, PlanSlots{task, had[task], has[task]})
		if has[task] == 0 {
			p.Waits = append(p.Waits, PlanWait{Task: task, Reason: reasonOf(after, cluster.PartitionID(task))})
		}
	}
}

func slotCounts(v cluster.Value) map[string]int {
	out := make(map[string]int)
	for p := range v.Partitions() {
		if p.Slot != 0 {
			task, _, _ := strings.Cut(string(p.ID), "#")
			out[task]++
		}
	}
	return out
}
