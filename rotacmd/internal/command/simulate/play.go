package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// verb is what a command does, and what it takes: the first word is its name.
type verb struct {
	names   []string
	options []string
	play    func(w *World, l *Line) error
}

// verbs lists the language.
func verbs() []verb {
	return []verb{
		{[]string{"join", "prepare"}, []string{"slots", "weight", "capacity", "label", "replaces"}, (*World).join},
		{[]string{"accept", "abort", "confirm", "release-hold"}, []string{"incarnation", "by"}, (*World).member},
		{[]string{"leave"}, []string{"reason", "incarnation"}, (*World).leave},
		{[]string{"crash"}, nil, (*World).crash},
		{[]string{"drain", "undrain"}, nil, (*World).drain},
		{[]string{"submit", "update"}, nil, (*World).submit}, // spec checks its options
		{[]string{"submit-many"}, nil, (*World).submitMany},
		{[]string{"kill"}, []string{"by", "by-token"}, (*World).kill},
		{[]string{"finish", "stopped", "started", "unpark"}, []string{"token"}, (*World).owner},
		{[]string{"fail"}, []string{"token", "attempt", "message"}, (*World).owner},
		{[]string{"split"}, []string{"token", "into", "done"}, (*World).owner},
		{[]string{"advance"}, []string{"token", "step", "cursor", "done", "items"}, (*World).owner},
		{[]string{"scheduler"}, nil, (*World).scheduler},
		{[]string{"configure"}, []string{"scheduler", "budget", "retention"}, (*World).configure},
		{[]string{"rebalance"}, nil, (*World).rebalance},
		{[]string{"entry"}, nil, (*World).entry},
		{[]string{"snapshot", "trim", "read"}, nil, (*World).reader},
		{[]string{"settle", "step", "sweep", "reset", "show"}, nil, (*World).control},
		{[]string{"pause"}, []string{"by"}, (*World).pause},
		{[]string{"resume"}, nil, (*World).resume},
	}
}

// Names lists the commands of the language.
func Names() (out []string) {
	for _, v := range verbs() {
		out = append(out, v.names...)
	}
	return out
}

// Play does one command, lets the members settle, and tells what came of it. The error is a *ScriptError.
func (w *World) Play(l Line) (Report, error) {
	before := w.v
	w.written, w.said = nil, ""
	if err := w.do(&l); err != nil {
		return Report{}, err
	}
	result := w.result()
	if !w.paused {
		w.settle()
	}
	return w.report(&l, before, result), nil
}

// do does what a line says.
func (w *World) do(l *Line) error {
	for _, v := range verbs() {
		if !slices.Contains(v.names, l.Name) {
			continue
		}
		if l.Name != "submit" && l.Name != "update" && l.Name != "submit-many" {
			if err := l.only(v.options...); err != nil {
				return err
			}
		}
		return v.play(w, l)
	}
	return &ScriptError{Line: l.Number, Reason: fmt.Sprintf("there is no command %q", l.Name), Try: "one of " +
		strings.Join(Names(), ", ")}
}

// notInEntries are no single commands.
var notInEntries = []string{"entry", "join", "settle", "snapshot", "trim", "read", "step", "sweep"} // read-only: a table

// entry writes several commands as one entry, a line each.
func (w *World) entry(l *Line) error {
	var commands []cluster.Command
	w.batch = &commands
	defer func() { w.batch = nil }()
	lines, err := l.inner()
	if err != nil {
		return err
	}
	for _, line := range lines {
		if slices.Contains(notInEntries, line.Name) {
			return line.fault("%s is not one command: it cannot stand in an entry", line.Name)
		}
		if err := w.do(&line); err != nil {
			return err
		}
	}
	w.batch = nil
	w.write("", commands...)
	return nil
}

// inner are the commands below an entry; what is indented more than the first of them belongs to the one above it.
func (l *Line) inner() (out []Line, err error) {
	for i, text := range l.Input {
		if n := len(out); n > 0 && l.indent[i] > l.indent[0] {
			out[n-1].Input, out[n-1].indent = append(out[n-1].Input, text), append(out[n-1].indent, l.indent[i])
			continue
		}
		line, err := command(text, l.Number+1+i)
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

// result tells of the commands that the script wrote which were refused and why.
func (w *World) result() string {
	var refused []string
	accepted := slices.ContainsFunc(w.written, func(c Written) bool { return c.By == "" && c.Reason == "" })
	for _, c := range w.written {
		switch reason := strings.ReplaceAll(c.Reason, "\n", "; "); {
		case c.By != "" || reason == "":
		case accepted:
			refused = append(refused, c.Command+" is refused: "+reason)
		default:
			refused = append(refused, "refused: "+reason)
		}
	}
	switch {
	case len(refused) == 0 && w.said != "":
		return "accepted: " + w.said
	case len(refused) == 0:
		return "accepted"
	case accepted:
		return "accepted, but " + strings.Join(refused, "; ")
	}
	return strings.Join(slices.Compact(refused), "; ")
}

// each does something for each name on the line; it wants one or more.
func (l *Line) each(what string, do func(name string) error, flags ...string) error {
	names := l.names(flags...)
	if len(names) == 0 {
		return l.fault("%s needs %s", l.Name, what)
	}
	for _, name := range names {
		if err := do(name); err != nil {
			return err
		}
	}
	return nil
}

// one wants one name.
func (l *Line) one(what string, flags ...string) (string, error) {
	names := l.names(flags...)
	if len(names) != 1 {
		return "", l.fault("%s needs one name, %s, and there is %s", l.Name, what, quoted(names))
	}
	return names[0], nil
}

// join prepares members and lets them be accepted. A member that crashed or is held comes back under its name.
func (w *World) join(l *Line) error {
	c := cluster.PrepareJoin{Labels: l.labels(), Again: slices.Contains(l.words, "again")}
	err := l.numbers(field{"slots", &c.Slots}, field{"weight", &c.Weight}, field{"capacity", &c.Capacity})
	if err != nil {
		return err
	}
	return l.each("the names of members", func(name string) error {
		c.Member, c.Heartbeat = cluster.MemberID(name), "pulse/"+name
		old, ok := w.v.Member(c.Member)
		replaces := int64(0)
		if ok && (w.dead[c.Member] || old.State == cluster.MemberHeld) && !w.paused {
			replaces = int64(old.Incarnation)
		}
		if err := l.numbers(field{"replaces", &replaces}); err != nil {
			return err
		}
		c.Replaces = cluster.Incarnation(replaces)
		delete(w.dead, c.Member) // its heartbeat is there
		w.write("", c)
		if m, _ := w.v.Member(c.Member); l.Name == "join" && m.State == cluster.MemberPrepared && m.ID != "" {
			w.write("", w.accept(m))
		}
		return nil
	}, "again")
}

// accept is what the predecessor of a member writes to accept it.
func (w *World) accept(m cluster.Member) cluster.AcceptJoin {
	c := cluster.AcceptJoin{Member: m.ID, Incarnation: m.Incarnation}
	for by := range w.v.Members() {
		if w.v.Successor(by.ID) == m.ID {
			c.By, c.ByIncarnation = by.ID, by.Incarnation
		}
	}
	return c
}

// member plays what is written about one member: by its predecessor, its operator, or itself.
func (w *World) member(l *Line) error {
	return l.each("the names of members", func(name string) error {
		m, err := w.named(l, name)
		if err != nil {
			return err
		}
		w.write("", w.about(l, m))
		return nil
	})
}

// named is the member of a name, in the incarnation that the line names, else in its own.
func (w *World) named(l *Line, name string) (cluster.Member, error) {
	m, _ := w.v.Member(cluster.MemberID(name))
	inc, err := l.number("incarnation", int64(m.Incarnation))
	m.ID, m.Incarnation = cluster.MemberID(name), cluster.Incarnation(inc)
	return m, err
}

func (w *World) about(l *Line, m cluster.Member) cluster.Command {
	switch l.Name {
	case "abort":
		return cluster.AbortJoin{Member: m.ID, Incarnation: m.Incarnation}
	case "confirm":
		return cluster.ConfirmMember{Member: m.ID, Incarnation: m.Incarnation, Heartbeat: "pulse/" + string(m.ID) +
			"/again"}
	case "release-hold":
		return cluster.ReleaseHold{Member: m.ID, Incarnation: m.Incarnation}
	}
	c := w.accept(m)
	if by := l.text("by"); by != "" {
		b, _ := w.v.Member(cluster.MemberID(by))
		c.By, c.ByIncarnation = cluster.MemberID(by), b.Incarnation
	}
	return c
}

func (w *World) leave(l *Line) error {
	return l.each("the names of members", func(name string) error {
		m, err := w.named(l, name)
		if err != nil {
			return err
		}
		w.write("", cluster.LeaveCluster{
			Member: m.ID, Incarnation: m.Incarnation, Reason: l.text("reason"),
			Hold: slices.Contains(l.words, "hold"), Died: slices.Contains(l.words, "died"),
		})
		return nil
	}, "hold", "died")
}

// crash writes nothing: the others notice.
func (w *World) crash(l *Line) error {
	return l.each("the names of members", func(name string) error {
		if _, ok := w.v.Member(cluster.MemberID(name)); ok {
			w.dead[cluster.MemberID(name)] = true
		} else {
			w.written = append(w.written, Written{Command: "crash " + name, Reason: "no such member"})
		}
		return nil
	})
}

func (w *World) drain(l *Line) error {
	return l.each("the names of members", func(name string) error {
		w.write("", cluster.DrainMember{Member: cluster.MemberID(name), On: l.Name == "drain"})
		return nil
	})
}

func (w *World) submit(l *Line) error {
	name, err := l.one("the job", "coverage", "stay")
	if err != nil {
		return err
	}
	spec, err := l.spec()
	if err != nil {
		return err
	}
	by, token, err := l.fence()
	if err != nil {
		return err
	}
	expected, err := l.number("expected", -1)
	if err != nil {
		return err
	}
	seen := cluster.Expected(expected + 1) // 0: the writer does not say what it has seen
	if l.Name == "update" {
		w.write("", cluster.UpdateJob{Job: cluster.JobID(name), Spec: spec, By: by, ByToken: token, Expected: seen})
	} else {
		w.write("", cluster.SubmitJob{Job: cluster.JobID(name), Spec: spec, By: by, ByToken: token, Expected: seen})
	}
	return nil
}

// fence reads the partition, and its token, under which a source writes.
func (l *Line) fence() (cluster.PartitionID, cluster.Token, error) {
	token, err := l.number("by-token", 0)
	return cluster.PartitionID(l.text("by")), cluster.Token(token), err
}

// maxMany bounds submit-many.
const maxMany = 100_000

// submitMany submits jobs with numbers behind their name, all in one entry.
func (w *World) submitMany(l *Line) error {
	names := l.names("coverage", "stay")
	count := 0
	if len(names) == 2 {
		if n, err := fmt.Sscanf(names[1], "%d", &count); n != 1 || err != nil {
			count = 0
		}
	}
	if count < 1 || count > maxMany {
		return l.fault("submit-many needs a name and how many, at most %d: submit-many check 12", maxMany)
	}
	spec, err := l.spec()
	if err != nil {
		return err
	}
	var commands []cluster.Command
	for i := range count {
		commands = append(commands, cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("%s%02d", names[0], i+1)),
			Spec: spec})
	}
	from := len(w.written)
	w.write("", commands...)
	if did := w.written[from:]; len(did) > 0 &&
		!slices.ContainsFunc(did, func(c Written) bool { return c.Reason != "" }) {
		w.written = append(w.written[:from], Written{Index: did[0].Index, Command: fmt.Sprintf("%d commands", count)})
	}
	return nil
}

func (w *World) kill(l *Line) error {
	by, token, err := l.fence()
	if err != nil {
		return err
	}
	return w.ofJobs(l, func(job cluster.JobID) cluster.Command {
		return cluster.KillJob{Job: job, By: by, ByToken: token}
	})
}
