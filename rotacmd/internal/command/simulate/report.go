package simulate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// Report is what came of one command, after the members had settled.
type Report struct {
	Command string                         `json:"command"`
	Result  string                         `json:"result"` // "accepted", or "refused: " and why
	Grants  map[string]string              `json:"grants"` // partition: member
	Slots   map[string]map[string][]string `json:"slots"`  // job: task of spread pool: member:number
	// Moved is how many partitions went from one member to another, and slots from one task to another.
	Moved   int               `json:"moved"`
	Waiting map[string]string `json:"waiting"` // partition, job/task, job or "slots": why
	Members []Member          `json:"members"` // sorted by name
	Jobs    map[string]string `json:"jobs"`    // job: its state
	Written []Written         `json:"written"` // in the order of the log

	members []string // a line for each
	jobs    []string
	moves   []string
}

// Member is a member of the cluster as a report shows it.
type Member struct {
	Member      string        `json:"member"`
	State       string        `json:"state"` // prepared, joined or held
	Incarnation cluster.Index `json:"incarnation"`
	Watches     string        `json:"watches,omitempty"` // its successor in the ring
	Draining    bool          `json:"draining,omitempty"`
	Dead        bool          `json:"dead,omitempty"` // crashed, and still in the value
	Slots       int64         `json:"slots,omitempty"`
}

func (w *World) report(l *Line, before cluster.Value, result string) Report {
	r := Report{
		Command: strings.Join(append([]string{l.Text}, l.Input...), "\n  "), Result: result,
		Grants: make(map[string]string), Slots: make(map[string]map[string][]string), Waiting: make(map[string]string),
		Members: []Member{}, Jobs: make(map[string]string), Written: append([]Written{}, w.written...),
	}
	for p := range w.v.Partitions() {
		if p.Owner != "" {
			r.Grants[string(p.ID)] = string(p.Owner)
		}
	}
	for _, wait := range w.v.Waiting() {
		r.Waiting[wait.Item] = wait.Reason.Rule + ": " + wait.Reason.Text
	}
	r.noteJobs(&w.v)
	r.noteMembers(w)
	r.noteMoves(&before, &w.v)
	r.Moved = len(r.moves)
	return r
}

// noteJobs keeps the slots by job and task, and a line for each job that is not just one partition.
func (r *Report) noteJobs(v *cluster.Value) {
	for j := range v.Jobs() {
		state, _ := v.JobState(j.ID)
		r.Jobs[string(j.ID)] = state.String()
		line := fmt.Sprintf("%s %s", j.ID, state)
		for _, t := range v.JobSlots(j.ID) {
			line += " " + taskText(t)
			if r.Slots[string(j.ID)] == nil {
				r.Slots[string(j.ID)] = make(map[string][]string)
			}
			r.Slots[string(j.ID)][t.Task] = slotNames(t)
		}
		if j.Message != "" {
			line += ": " + j.Message
		}
		if r.Slots[string(j.ID)] != nil || state != cluster.JobRunning {
			r.jobs = append(r.jobs, line)
		}
	}
}

func slotNames(t cluster.TaskSlots) []string {
	names := make([]string, 0, len(t.Slots))
	for _, s := range t.Slots {
		names = append(names, s.String())
	}
	return names
}

func taskText(t cluster.TaskSlots) string {
	text := t.Task + "[" + strings.Join(slotNames(t), " ") + "]"
	if t.Finished {
		text = t.Task + " finished"
	}
	for _, s := range t.Leaving {
		text += fmt.Sprintf(" leaving %s", s)
	}
	return text
}

// noteMembers keeps a line for each member with what it runs besides slots.
func (r *Report) noteMembers(w *World) {
	runs := make(map[cluster.MemberID][]string)
	slots := make(map[cluster.MemberID]int64)
	for p := range w.v.Partitions() {
		switch {
		case p.Slot != 0:
			slots[p.Owner]++
		case p.Owner != "":
			runs[p.Owner] = append(runs[p.Owner], runText(p))
		}
	}
	for m := range w.v.Members() {
		r.Members = append(r.Members, Member{
			Member: string(m.ID), State: m.State.String(), Incarnation: m.Incarnation,
			Watches: string(w.v.Successor(m.ID)), Draining: m.Draining, Dead: w.dead[m.ID], Slots: m.Slots,
		})
		line := fmt.Sprintf("%s %s", m.ID, m.State)
		if m.Draining {
			line += " draining"
		}
		if w.dead[m.ID] {
			line += " dead"
		}
		if m.Slots > 0 {
			line += fmt.Sprintf(" slots %d/%d", slots[m.ID], m.Slots)
		}
		if len(runs[m.ID]) > 0 {
			line += ": " + strings.Join(runs[m.ID], " ")
		}
		r.members = append(r.members, line)
	}
}

// runText is a partition in the line of its owner: t, t→b (stops, then b), t→ (stops), t⇒b (b starts, then it stops),
// t(held).
func runText(p cluster.Partition) string {
	switch s := string(p.ID); p.State {
	case cluster.PartitionReleasing:
		return s + "→" + string(p.Next)
	case cluster.PartitionAdopting:
		return s + "⇒" + string(p.Next)
	case cluster.PartitionHeld:
		return s + "(held)"
	default:
		return s
	}
}

// noteMoves compares who had what before the command and after it.
func (r *Report) noteMoves(before, after *cluster.Value) {
	tasks := make(map[string]string)
	for p := range after.Partitions() {
		if p.Slot != 0 {
			job, task, _ := p.ID.Split()
			tasks[fmt.Sprintf("%s:%d", p.Owner, p.Slot)] = string(cluster.NewPartitionID(job, task, ""))
		}
	}
	for p := range before.Partitions() {
		if p.Slot != 0 {
			job, task, _ := p.ID.Split()
			slot, was := fmt.Sprintf("%s:%d", p.Owner, p.Slot), string(cluster.NewPartitionID(job, task, ""))
			if is, ok := tasks[slot]; ok && is != was {
				r.moves = append(r.moves, fmt.Sprintf("%s %s → %s", slot, was, is))
			}
			continue
		}
		if now, ok := after.Partition(p.ID); ok && p.Owner != "" && now.Owner != "" && now.Owner != p.Owner {
			r.moves = append(r.moves, fmt.Sprintf("%s %s → %s", p.ID, p.Owner, now.Owner))
		}
	}
}

// shown bounds each kind of lines of a report in text; all says no bound.
const shown = 40

// Print writes the report for people.
func (r *Report) Print(out io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "> %s\n  %s\n", strings.ReplaceAll(r.Command, "\n", "\n> "), r.Result)
	section := func(name string, lines []string) {
		limit := len(lines)
		if !all {
			limit = min(limit, shown)
		}
		for _, l := range lines[:limit] {
			fmt.Fprintf(&b, "  %-8s %s\n", name, strings.ReplaceAll(l, "\n", "; "))
			name = ""
		}
		if limit < len(lines) {
			fmt.Fprintf(&b, "  %-8s … and %d more: --all\n", "", len(lines)-limit)
		}
	}
	section("log", r.log())
	section("members", r.members)
	section("jobs", r.jobs)
	section(fmt.Sprintf("moved %d", r.Moved), r.moves)
	section("waiting", r.waitingLines())
	b.WriteByte('\n')
	_, err := io.WriteString(out, b.String())
	return err
}

// log lists what was written: index, the member that wrote it by itself, what it said, why it did nothing.
func (r *Report) log() (out []string) {
	for _, c := range r.Written {
		if c.Index == 0 {
			continue // it did not come to an entry
		}
		line := fmt.Sprintf("%d: %s", c.Index, c.Command)
		if c.By != "" {
			line = c.By + " " + line
		}
		if c.Reason != "" {
			line += ": refused: " + c.Reason
		}
		out = append(out, line)
	}
	return out
}

func (r *Report) waitingLines() (out []string) {
	for _, item := range slices.Sorted(maps.Keys(r.Waiting)) {
		out = append(out, item+": "+r.Waiting[item])
	}
	return out
}
