package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/datadriven"
)

// state shows the ring, if it changed since it was last shown, and who owns what.
func (g *golden) state() string {
	var b strings.Builder
	if ring := g.ringText(); ring != g.ring {
		g.ring = ring
		b.WriteString(ring)
	}
	g.owned(&b)
	if b.Len() == 0 {
		return "nothing changed\n"
	}
	return b.String()
}

// ringText has a line per member: who it is, whom it watches, and whether it is to accept it.
func (g *golden) ringText() string {
	var b strings.Builder
	for m := range g.v.Members() {
		fmt.Fprintf(&b, "  %s@%d %s", m.ID, m.Incarnation, m.State)
		if m.Draining {
			b.WriteString(" draining")
		}
		if g.dead[m.ID] {
			b.WriteString(" dead")
		}
		r := g.v.Reactions(m.ID)
		if r.Watch.ID != g.v.Successor(m.ID) {
			g.t.Fatalf("%s: its reactions watch %q, its successor is %q", m.ID, r.Watch.ID, g.v.Successor(m.ID))
		}
		if r.Watch.ID != "" {
			fmt.Fprintf(&b, ", watches %s", r.Watch.ID)
		}
		if r.Accept {
			b.WriteString(" and accepts it")
		}
		for _, h := range r.Held {
			fmt.Fprintf(&b, ", releases %s in time", h.ID)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// owned has a line per member with partitions, then those that nobody owns.
func (g *golden) owned(b *strings.Builder) {
	lines := make(map[MemberID][]string)
	var orphans []string
	for p := range g.v.Partitions() {
		switch {
		case p.Owner != "":
			lines[p.Owner] = append(lines[p.Owner], mine(p))
		default:
			orphans = append(orphans, string(p.ID)+" "+p.State.String())
		}
	}
	for m := range g.v.Members() {
		if l := lines[m.ID]; len(l) > 0 {
			fmt.Fprintf(b, "%s: %s\n", m.ID, strings.Join(l, " "))
			delete(lines, m.ID)
		}
	}
	if len(lines) > 0 {
		g.t.Fatalf("owners that are not members: %v", lines)
	}
	if len(orphans) > 0 {
		fmt.Fprintf(b, "nobody: %s\n", strings.Join(orphans, ", "))
	}
}

// mine is a partition in the line of its owner: t, t→b (stops, then b), t→ (stops), t⇒b (b starts, then it stops), t(held).
func mine(p Partition) string {
	s := string(p.ID)
	switch p.State {
	case PartitionReleasing:
		s += "→" + string(p.Next)
	case PartitionAdopting:
		s += "⇒" + string(p.Next)
	case PartitionHeld:
		s += "(held)"
	}
	if p.Attempts > 0 {
		s += fmt.Sprintf("(failed %d×)", p.Attempts)
	}
	if p.Dropped {
		s += "(dropped)"
	}
	return s
}

func (g *golden) show(d *datadriven.TestData, a arguments) string {
	var out []string
	switch a.name(0) {
	case "partitions":
		for p := range g.v.Partitions() {
			out = append(out, p.String())
		}
	case "jobs":
		for j := range g.v.Jobs() {
			state, _ := g.v.JobState(j.ID)
			line := fmt.Sprintf("job %s %s", j.ID, state)
			if j.Message != "" {
				line += ": " + j.Message
			}
			out = append(out, line)
		}
	case "slots": // show slots: who takes which slot, by job and task
		out = slotLines(g.v)
	case "waiting": // show waiting: all that waits, and why
		for _, w := range g.v.Waiting() {
			out = append(out, fmt.Sprintf("%s: %s: %s", w.Item, w.Reason.Rule, w.Reason.Text))
		}
	case "order": // show order x: the tasks in topological order
		j, _ := g.v.Job(JobID(a.name(1)))
		for t := range j.TaskOrder() {
			out = append(out, t.Name)
		}
	case "why":
		r := g.v.Why(PartitionID(a.name(1)))
		out = append(out, "rule: "+r.Rule, "text: "+r.Text, "try: "+r.Try)
	case "duties":
		for _, duty := range g.v.Duties(MemberID(a.name(1))) {
			out = append(out, fmt.Sprintf("%s %s under %d", [...]string{"run", "stop", "adopt"}[duty.Role], duty.Partition.ID, duty.Token))
		}
	case "counts": // how many partitions each member owns
		counts := g.owners()
		for m := range counts {
			out = append(out, fmt.Sprintf("%s %d", m, counts[m]))
		}
		slices.Sort(out)
	default:
		g.t.Fatalf("%s: unknown %q", d.Pos, a.name(0))
	}
	if len(out) == 0 {
		return "nothing\n"
	}
	return strings.Join(out, "\n") + "\n"
}
