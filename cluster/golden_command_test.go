package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"
)

// command reads one command. What it must name (incarnation, token, attempt) is the present one unless the line says
// another.
func (g *golden) command(d *datadriven.TestData, a arguments) Command {
	switch a.cmd {
	case "prepare", "accept", "abort", "leave", "confirm", "release-hold", "drain", "undrain":
		return g.memberCommand(a)
	case "submit": // submit x spread=partitioned keys=(p, q) handover=no-gap weight=50 label=gpu:yes pin=a zone=zone attempts=3
		return SubmitJob{Job: JobID(a.name(0)), Spec: workflowOf(d, a), By: PartitionID(a.text("by")),
			ByToken: Token(a.number("by-token", 0)), Expected: Expected(a.number("expected", -1) + 1)}
	case "update":
		return UpdateJob{Job: JobID(a.name(0)), Spec: workflowOf(d, a), By: PartitionID(a.text("by")),
			ByToken: Token(a.number("by-token", 0)), Expected: Expected(a.number("expected", -1) + 1)}
	case "kill":
		return KillJob{Job: JobID(a.name(0)), By: PartitionID(a.text("by")), ByToken: Token(a.number("by-token", 0))}
	case "pause": // pause x by=ann
		return PauseJob{Job: JobID(a.name(0)), By: a.text("by")}
	case "resume":
		return ResumeJob{Job: JobID(a.name(0))}
	case "rebalance":
		return Rebalance{}
	case "configure": // configure budget=2 retention=1 scheduler=greedy; budget=-1 pins
		return Configure{MoveBudget: a.number("budget", 0), Retention: a.number("retention", 0),
			JobScheduler: a.text("scheduler")}
	case "epoch": // epoch 1.2 a b@10 c leader=b capacity=1 again=(c): those that are there keep their incarnation, or have the one behind the @
		return g.epoch(a)
	case "lead": // lead a term=1: what is placed is offered from then on
		return Lead{Member: MemberID(a.name(0)), Term: uint64(a.number("term", int64(g.v.leader.Term)+1)), OfferMS: 100}
	case "own": // own a partitions=(x:40, y:50)
		m, _ := g.v.Member(MemberID(a.name(0)))
		c := Own{Member: m.ID, Incarnation: m.Incarnation, Count: int64(len(a.values("partitions")))}
		for _, s := range a.values("partitions") {
			id, token := numbered(s, ":")
			c.Partitions = append(c.Partitions, Owned{PartitionID(id), Token(token)})
		}
		return c
	}
	return g.partitionCommand(d, a)
}

// numbered cuts a number off.
func numbered(s, sep string) (name string, n uint64) {
	name, text, ok := strings.Cut(s, sep)
	if ok {
		var err error
		n, err = strconv.ParseUint(text, 10, 64)
		orPanic(err)
	}
	return name, n
}

func (g *golden) epoch(a arguments) Command {
	start, generation := numbered(a.name(0), ".")
	first, err := strconv.ParseUint(start, 10, 64)
	orPanic(err)
	e := Epoch{Start: first, Generation: generation}
	for _, s := range a.names()[1:] {
		id, inc := numbered(s, "@")
		m := EpochMember{Incarnation: Incarnation(inc), Join: PrepareJoin{Member: MemberID(id), Heartbeat: "g/" + id}}
		if slices.Contains(a.values("again"), id) { // another start
			m.Join.Heartbeat += "/again"
		} else if old, ok := g.v.Member(m.Join.Member); ok && inc == 0 {
			m.Incarnation, m.Join.Heartbeat = old.Incarnation, old.Heartbeat
		} else if inc == 0 {
			m.Join.Capacity = a.number("capacity", 0)
		}
		e.Members = append(e.Members, m)
	}
	if e.Leader = MemberID(a.text("leader")); e.Leader == "" {
		e.Leader = e.Members[0].Join.Member
	}
	return e
}

func (g *golden) memberCommand(a arguments) Command {
	m, _ := g.v.Member(MemberID(a.name(0)))
	inc := Incarnation(a.number("incarnation", int64(m.Incarnation)))
	id := MemberID(a.name(0))
	switch a.cmd {
	case "prepare": // prepare a zone=x weight=200 capacity=3 replaces=10 again
		delete(g.dead, id) // its heartbeat is there
		return PrepareJoin{Member: id, Replaces: Index(a.number("replaces", 0)), Slots: a.number("slots", 0),
			Weight:   a.number("weight", 0),
			Capacity: a.number("capacity", 0), Labels: a.labels(), Heartbeat: "pulse/" + string(id),
			Again: a.has("again")}
	case "accept": // accept b by=a
		by := MemberID(a.text("by"))
		if by == "" {
			by = g.v.before(id)
		}
		b, _ := g.v.Member(by)
		return AcceptJoin{Member: id, Incarnation: inc, By: by, ByIncarnation: b.Incarnation}
	case "abort":
		return AbortJoin{id, inc}
	case "leave": // leave a reason=(it was told to) hold died
		return LeaveCluster{Member: id, Incarnation: inc, Reason: a.text("reason"), Hold: a.has("hold"),
			Died: a.has("died")}
	case "confirm":
		return ConfirmMember{Member: id, Incarnation: inc, Heartbeat: "pulse/" + string(id) + "/again"}
	case "release-hold":
		return ReleaseHold{id, inc}
	}
	return DrainMember{Member: id, On: a.cmd == "drain"}
}

func (g *golden) partitionCommand(d *datadriven.TestData, a arguments) Command {
	id := PartitionID(a.name(0))
	p, _ := g.v.Partition(id)
	token := Token(a.number("token", int64(p.Token)))
	switch a.cmd {
	case "started": // started t: the target of a no-gap move runs
		return Started{id, Token(a.number("token", int64(p.NextToken)))}
	case "stopped":
		return Stopped{id, token}
	case "finish":
		return FinishPartition{Partition: id, Token: token}
	case "fail": // fail t fresh attempt=2 message=(no route)
		return FinishPartition{Partition: id, Token: token, Outcome: OutcomeFailed,
			Attempt: a.number("attempt", p.Attempts),
			Fresh:   a.has("fresh"), Message: a.text("message")}
	case "split": // split x#p into=(q, r) done=(o), or, with other parents, a line each: s p q
		return SplitPartition{Partition: id, Token: token, Children: childrenOf(d, a, id), Done: a.values("done")}
	case "advance": // advance x#list cursor=c done=(p) items=(q, r) step=0
		var items []Item
		for _, k := range a.values("items") {
			items = append(items, Item{Key: k, Input: []byte("input " + k)})
		}
		return AdvanceWindow{Partition: id, Token: token, Step: a.number("step", p.Step),
			Cursor: []byte(a.text("cursor")), Done: a.values("done"), Items: items}
	case "share": // share x to=b: its owner gives it to b
		return Share{id, token, MemberID(a.text("to"))}
	case "take": // take t: its owner takes the offer
		return AcceptOffer{id, token}
	case "revoke": // revoke t declined
		return RevokeOffer{id, token, a.has("declined")}
	case "unpark":
		return UnparkPartition{id}
	}
	g.t.Fatalf("%s: unknown directive %q", d.Pos, a.cmd)
	return nil
}

func childrenOf(d *datadriven.TestData, a arguments, parent PartitionID) []Child {
	_, _, key := parent.Split()
	var out []Child
	for _, k := range a.values("into") {
		out = append(out, Child{k, []string{key}})
	}
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		out = append(out, Child{words[0], words[1:]})
	}
	return out
}

// jobOf reads a job of one unnamed task, or of several: tasks=(x, y), all alike.
func jobOf(a arguments) JobSpec {
	spec := JobSpec{Source: a.text("source"), Version: a.text("version")}
	names := a.values("tasks")
	if names == nil {
		names = []string{""}
	}
	for _, n := range names {
		t := taskOf(a)
		t.Name = n
		spec.Tasks = append(spec.Tasks, t)
	}
	return spec
}

func taskOf(a arguments) TaskSpec {
	t := TaskSpec{Type: "noop", Weight: a.number("weight", 0), Selector: a.labels(), SpreadOver: a.text("over"),
		Pin: MemberID(a.text("pin")), MaxAttempts: a.number("attempts", 0), Partitions: a.values("keys"),
		Stay: a.has("stay"), Definition: []byte(a.text("definition"))}
	if s := a.text("spread"); s != "" {
		orPanic(t.Spread.UnmarshalText([]byte(s)))
	}
	if s := a.text("handover"); s != "" {
		orPanic(t.Handover.UnmarshalText([]byte(s)))
	}
	return t
}

func orPanic(err error) {
	if err != nil {
		panic(err)
	}
}

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

// mine is a partition in the line of its owner: t, t→b (stops, then b), t→ (stops), t⇒b (b starts, then it stops),
// t(held).
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
			out = append(out, fmt.Sprintf("%s %s under %d", [...]string{"run", "stop", "adopt"}[duty.Role],
				duty.Partition.ID, duty.Token))
		}
	case "shares": // show shares a: what it would give away
		for _, s := range g.v.Shares(MemberID(a.name(1))) {
			out = append(out, fmt.Sprint(s))
		}
	case "from": // show from: who had each partition before, and why it has it no more
		for p := range g.v.Partitions() {
			out = append(out, strings.TrimSuffix(fmt.Sprintf("%s from %q: %s", p.ID, p.From, p.Cause), ": "))
		}
	case "window": // show window x#list
		for p := range g.v.Window(PartitionID(a.name(1))) {
			out = append(out, p.String())
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
