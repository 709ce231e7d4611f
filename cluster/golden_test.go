package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rota-run/rota/internal/proof/must"
)

// The scripts in testdata: worked examples, one per file, those of the source document under its names. Each directive
// is a command, or something that live members would write; its outcome shows what was written, the ring if it changed,
// and who owns what. Run with -rewrite to write the outcomes again.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"join", "leave", "deaths", "placement", "handover", "jobs", "slots", "shares",
		"windows", "epochs", "offers"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			datadriven.Walk(t, "testdata/"+folder, func(t *testing.T, path string) {
				g := &golden{script: script{t: t}, dead: make(map[MemberID]bool)}
				datadriven.RunTest(t, path, g.run)
			})
		})
	}
}

// golden is a cluster that a text moves, step by step.
type golden struct {
	script
	dead map[MemberID]bool // their heartbeats are gone
	ring string            // as shown last
	out  strings.Builder
}

func (g *golden) run(t *testing.T, d *datadriven.TestData) string {
	g.t = t
	g.out.Reset()
	switch d.Cmd {
	case "entry": // one entry of several commands, a line each
		var commands []Command
		for line := range strings.Lines(d.Input) {
			cmd, args, err := datadriven.ParseLine(line)
			if err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			commands = append(commands, g.command(d, arguments{cmd, args}))
		}
		g.write(commands...)
	case "join": // join a b zone=x: each prepares, then its predecessor accepts it
		for _, m := range (arguments{d.Cmd, d.CmdArgs}).names() {
			g.joinOne(d, m)
		}
	case "crash": // crash a b: their heartbeats are gone; nothing is written
		for _, m := range (arguments{d.Cmd, d.CmdArgs}).names() {
			g.dead[MemberID(m)] = true
		}
	case "step": // step a b: each of these live members, or each of all, does once what the value asks of it
		g.step((arguments{d.Cmd, d.CmdArgs}).names())
	case "reset": // another cluster
		g.v, g.ring, g.dead = Value{}, "", make(map[MemberID]bool)
		return "nothing\n"
	case "settle": // step until nobody has anything to do
		g.settleAll()
	case "give": // give a b: each shares all that it would
		for _, m := range (arguments{d.Cmd, d.CmdArgs}).names() {
			for _, s := range g.v.Shares(MemberID(m)) {
				g.write(s)
			}
		}
	case "sweep": // sweep a: a compares the heartbeats with the members and reports those that are missing
		g.sweep()
	case "submit-many": // submit-many prefix count: single tasks, all in one entry
		g.submitMany(arguments{d.Cmd, d.CmdArgs})
	case "show": // show partitions | jobs | why p | duties m
		return g.show(d, arguments{d.Cmd, d.CmdArgs})
	default:
		g.write(g.command(d, arguments{d.Cmd, d.CmdArgs}))
	}
	return g.out.String() + g.state()
}

// arguments are the words behind a directive: names, and options key=value.
type arguments struct {
	cmd  string
	list []datadriven.CmdArg
}

func (a arguments) names() []string {
	var names []string
	for _, arg := range a.list {
		if len(arg.Vals) == 0 {
			names = append(names, arg.Key)
		}
	}
	return names
}

func (a arguments) name(i int) string {
	if names := a.names(); i < len(names) {
		return names[i]
	}
	return ""
}

func (a arguments) has(flag string) bool { return slices.Contains(a.names(), flag) }

func (a arguments) values(key string) []string {
	for _, arg := range a.list {
		if arg.Key == key {
			return arg.Vals
		}
	}
	return nil
}

func (a arguments) text(key string) string { return strings.Join(a.values(key), ", ") }

func (a arguments) number(key string, otherwise int64) int64 {
	if s := a.text(key); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	return otherwise
}

// labels reads label=(gpu:yes, zone:x).
func (a arguments) labels() []Label {
	var labels []Label
	for _, s := range a.values("label") {
		k, v, _ := strings.Cut(s, ":")
		labels = append(labels, Label{k, v})
	}
	slices.SortFunc(labels, func(x, y Label) int { return cmp.Compare(x.Key, y.Key) })
	return labels
}

func (g *golden) joinOne(d *datadriven.TestData, id string) {
	list := []datadriven.CmdArg{{Key: id}}
	for _, a := range d.CmdArgs {
		if len(a.Vals) > 0 {
			list = append(list, a)
		}
	}
	g.write(g.command(d, arguments{"prepare", list}))
	if m, _ := g.v.Member(MemberID(id)); m.State == MemberPrepared {
		g.write(g.command(d, arguments{"accept", list[:1]}))
	}
}

func (g *golden) submitMany(a arguments) {
	n, err := strconv.Atoi(a.name(1))
	must.Succeed(g.t, err)
	var commands []Command
	for i := range n {
		commands = append(commands, SubmitJob{Job: JobID(fmt.Sprintf("%s%02d", a.name(0), i+1)),
			Spec: JobSpec{Tasks: []TaskSpec{taskOf(a)}}})
	}
	g.quiet(commands...)
}

// quiet writes commands that must be accepted and shows only how many.
func (g *golden) quiet(commands ...Command) {
	g.ok(commands...)
	fmt.Fprintf(&g.out, "%d: %d commands\n", g.v.Index(), len(commands))
}

// write appends one entry and shows what each of its commands did.
func (g *golden) write(commands ...Command) {
	for i, r := range g.do(commands...).Results {
		fmt.Fprintf(&g.out, "%d: %s", g.v.Index(), commands[i])
		if !r.Accepted {
			fmt.Fprintf(&g.out, ": refused: %s", r.Reason)
		}
		g.out.WriteByte('\n')
	}
	if g.last.Duplicate {
		g.t.Fatal("the harness wrote a duplicate")
	}
}

func (g *golden) live() []MemberID {
	var ids []MemberID
	for m := range g.v.Members() {
		if m.State != MemberHeld && !g.dead[m.ID] {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// step lets each live member write what the value, as it stands before the step, asks of it.
func (g *golden) step(only []string) bool {
	v := g.v
	wrote := false
	for _, id := range g.live() {
		if len(only) > 0 && !slices.Contains(only, string(id)) {
			continue
		}
		for _, c := range g.proposals(v, id) {
			fmt.Fprintf(&g.out, "%s ", id)
			g.write(c)
			wrote = true
		}
	}
	return wrote
}

func (g *golden) proposals(v Value, id MemberID) []Command {
	var out []Command
	r := v.Reactions(id)
	switch w := r.Watch; {
	case w.ID == "":
	case g.dead[w.ID]:
		out = append(out, gone(w))
	case r.Accept:
		out = append(out, AcceptJoin{w.ID, w.Incarnation, id, r.Incarnation})
	}
	for _, d := range v.Duties(id) {
		switch d.Role {
		case RoleStop:
			out = append(out, Stopped{d.Partition.ID, d.Token})
		case RoleAdopt:
			out = append(out, Started{d.Partition.ID, d.Token})
		}
	}
	return out
}

// gone is what is written about a member whose heartbeat is missing.
func gone(m Member) Command {
	if m.State == MemberPrepared {
		return AbortJoin{m.ID, m.Incarnation}
	}
	return LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: "its heartbeat is gone"}
}

func (g *golden) settleAll() {
	for range 50 {
		if !g.step(nil) {
			return
		}
	}
	g.t.Fatalf("it does not settle:\n%s", g.v)
}

func (g *golden) sweep() {
	for m := range g.v.Members() {
		if g.dead[m.ID] && m.State != MemberHeld {
			g.write(gone(m))
		}
	}
}
