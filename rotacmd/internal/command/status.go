package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/store"
)

func newStatus(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "show the present state and its problems",
		Long: "Shows the present state and its problems. With -o json also each member, and each task with its owner and token.\n" +
			"With --check it waits until each member has renewed its heartbeat, prints in one line what is wrong, and exits with 1 if something is.",
		Example: "  rota status --store file:./rota-data\n  rota status --check",
	}
	check := cmd.Flags().Bool("check", false, "for scripts: one line, and exit 1 if something is wrong")
	follow := cmd.Flags().Bool("watch", false, "show it again whenever it changes, until interrupted")
	cmd.Flags().Bool("all", false, "all problems, without a limit")
	queueFlag(cmd.Flags())
	asked(cmd.Flags(), "check", "watch", "all")
	return framed(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if *follow && *check {
			return misused("one of the two", "--watch and --check exclude each other")
		}
		if !*follow && !*check && !o.json {
			if done, err := o.statusLocal(ctx); done || err != nil {
				return err
			}
		}
		if err := o.look(ctx); err != nil {
			return err
		}
		if *follow {
			return o.watchStatus(cmd.Context())
		}
		return o.showStatus(ctx, *check)
	})
}

// clearScreen puts the cursor of a terminal home and clears what is below.
const clearScreen = "\x1b[H\x1b[2J"

// watchStatus shows the status again whenever the cluster may have changed. Only a terminal is cleared.
func (o *observer) watchStatus(ctx context.Context) error {
	out := o.outFile()
	clears := out != nil && term.IsTerminal(int(out.Fd())) && !o.json
	return o.watch(ctx, func() (bool, error) {
		limited, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		if clears {
			fmt.Fprintf(o.stdout, "%s%s  every change; Ctrl-C ends it\n", clearScreen, o.now.Format(time.TimeOnly))
		}
		return false, o.showStatus(limited, false)
	})
}

// statusReport is what rota status prints as JSON: the sums of the HTTP API, and what they are the sums of.
type statusReport struct {
	view.Status
	Wrong      []string      `json:"wrong"` // what --check says; empty where all is well
	Sinks      []memberSink  `json:"sinks"` // as the members have written
	MemberList []view.Member `json:"member_list"`
	TaskList   []view.Task   `json:"task_list"`
}

// problemsShown is how many problems fit on a screen.
const problemsShown = 15

func (o *observer) showStatus(ctx context.Context, check bool) error {
	sight, err := o.sight(ctx, check)
	if err != nil {
		return err
	}
	seen, err := overviewOf(ctx, o.store, o.viewer, sight)
	if err != nil {
		return err
	}
	s := seen.Status
	wrong := s.Wrong()
	switch {
	case o.json:
		err = o.printJSON(statusReport{s, wrong, seen.Sinks, sight.Members(), sight.Tasks(view.Filter{})})
	case check && len(wrong) > 0:
		return failed(o.hint("rota status"), "%s", strings.Join(wrong, ", "))
	case check:
		_, err = fmt.Fprintf(o.stdout, "ok: %s, %s%s\n", many(s.Members.Total, "member"), many(s.Tasks.Total, "task"),
			taskText(view.TaskCounts{Paused: s.Tasks.Paused, Held: s.Tasks.Held}))
	default:
		err = o.printOverview(seen)
	}
	if err == nil && check && len(wrong) > 0 {
		return errSilent
	}
	return err
}

func (o *observer) printOverview(seen overview) error {
	if err := o.printStatus(seen); err != nil {
		return err
	}
	return o.printSinks(seen.Sinks)
}

func (o *observer) printStatus(seen overview) error {
	w, s := o.stdout, seen.Status
	index := grouped(int(s.Index))
	if seen.Head > s.Index {
		index += " of " + grouped(int(seen.Head)) // a member has said so that was not able to keep up
	}
	fmt.Fprintf(w, "store %s · protocol %s · index %s · digest %s\n", s.Store, s.Protocol, index, s.Digest[:8])
	if l := s.Leader; l != nil {
		fmt.Fprintf(w, "leader %s · term %d · since %s · stand-bys %s\n", l.Member, l.Term, clock(l.SinceMS, o.now),
			cmp.Or(strings.Join(l.StandBys, ", "), "none"))
	}
	fmt.Fprintf(w, "members %s", grouped(s.Members.Total))
	fmt.Fprint(w, memberText(s.Members, seen.Unguarded))
	fmt.Fprintf(w, " · tasks %s%s · moves in the last hour %s", grouped(s.Tasks.Total), taskText(s.Tasks),
		grouped(s.Moves.LastHour))
	if s.Moves.LongestGapMS > 0 {
		fmt.Fprintf(w, ", longest gap %s", gapText(s.Moves.LongestGapMS))
	}
	fmt.Fprintln(w)
	if s.Nobody != "" {
		fmt.Fprintf(w, "! %s   → rota run --store %s\n", s.Nobody, storeWord(o.url))
		if s.Members.Total == 0 && s.Tasks.Total > 0 {
			return nil
		}
	}
	var rows [][]string
	for _, p := range s.Problems[:o.fits(len(s.Problems), problemsShown)] {
		name, next := p.Task, o.hint("rota why "+safetext.Word(p.Task))
		switch {
		case p.State == view.Held:
			name, next = p.Member, o.hint("rota member evict "+safetext.Word(p.Member))
		case p.Member != "":
			name, next = p.Member, o.hint("rota member list")
		case p.State == view.SourcesDiffer || p.State == view.Paused || p.State == view.DeadLetters:
			next = o.try(p.Try)
		}
		text := p.Text
		if p.State == view.Failing && p.SinceMS > 0 {
			text = "since " + clock(p.SinceMS, o.now) + ", " + text
		}
		rows = append(rows, []string{"! " + p.State, clipped(name), text, "→ " + next})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	if more := len(s.Problems) - len(rows) + s.More; more > 0 {
		next := o.again("--all")
		if o.all {
			next = o.hint("rota events --kind malformed-task-error") + ", and " + o.hint("rota task list --all")
		}
		fmt.Fprintf(w, "and %s more: %s\n", grouped(more), next)
	}
	return nil
}

// namedMost is how many members a line names.
const namedMost = 3

func memberText(c view.MemberCounts, unguarded []string) string {
	var parts []string
	say := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	say(c.Silent, "probably dead")
	say(c.Draining, "draining")
	say(c.Slower, "with a longer TTL, for renewals are slow")
	if n := len(unguarded); n > 0 {
		names := strings.Join(unguarded[:min(n, namedMost)], " ")
		if n > namedMost {
			names += " …"
		}
		say(n, "without a guardian: "+names)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// taskText is the counts that are not zero, after a colon.
func taskText(c view.TaskCounts) string {
	var parts []string
	for _, p := range []struct {
		n    int
		name string
	}{
		{c.Running, "running"}, {c.Failing, view.Failing}, {c.BackingOff, view.BackingOff},
		{c.Silent, view.OwnerSilent}, {c.Moving, "moving"}, {c.Waiting, "waiting"}, {c.Paused, view.Paused},
		{c.Parked, "parked"}, {c.Blocked, "blocked"}, {c.Held, "held"}, {c.Finished, "finished"},
	} {
		if p.n > 0 {
			parts = append(parts, grouped(p.n)+" "+p.name)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// memberSink is a sink of one member.
type memberSink struct {
	Member cluster.MemberID `json:"member"`
	node.Sink
}

// sinksOf is what the members have written of their sinks: those that fail come first, and then by member. A command
// asks no member, since the address in its record is as good as anybody who can write the store: see decision 82.
func sinksOf(ctx context.Context, docs store.Docs, v cluster.Value) ([]memberSink, error) {
	all := []memberSink{}
	found, err := docs.List(ctx, node.SinksPrefix)
	if err != nil {
		return nil, fmt.Errorf("read what the sinks say: %w", err)
	}
	for _, d := range found {
		var said node.Sinks
		if json.Unmarshal(d.Value, &said) != nil || d.Key != node.SinksPrefix+string(said.Member) {
			continue
		}
		if _, in := v.Member(said.Member); !in {
			continue
		}
		for _, s := range said.Sinks {
			all = append(all, memberSink{said.Member, s})
		}
	}
	slices.SortStableFunc(all, func(a, b memberSink) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Member, b.Member))
	})
	return all, nil
}

func (s *memberSink) rank() int {
	if s.Late || s.Errors > 0 || s.Dropped > 0 {
		return 0
	}
	return 1
}

// sinkRows are lines for people.
func sinkRows(all []memberSink, now time.Time) (rows [][]string) {
	for _, s := range all {
		row := []string{"sink", s.Name, "on " + string(s.Member), "dropped " + grouped(int(s.Dropped)),
			"errors " + grouped(int(s.Errors))}
		if s.Late {
			row = append(row, "samples wait")
		}
		if s.LastError != "" {
			row = append(row, fmt.Sprintf("last error %s: %s", clock(s.LastErrorAtMS, now), s.LastError))
		}
		rows = append(rows, row)
	}
	return rows
}

// printSinks shows those that fit on a screen.
func (o *observer) printSinks(all []memberSink) error {
	shown := o.fits(len(all), problemsShown)
	if err := table(o.stdout, sinkRows(all[:shown], o.now)); err != nil {
		return err
	}
	o.more(len(all)-shown, " sinks")
	return nil
}
