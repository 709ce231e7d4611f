package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/protocol"
)

const logShowHelp = `Shows the cluster at an index of the log, or at a time. It reads the entries that the log still holds: it goes
back to the last snapshot, and says how far that is. rota log list prints the entries with their indexes.

A time is that of the clock of the member or command that wrote the entry. Clocks of machines differ.`

func newLogShow(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show (INDEX | --at TIME)", Short: "show the cluster at an index of the log, or at a time",
		Long: logShowHelp,
		Args: cobra.MaximumNArgs(1), Example: "  rota log show 100\n  rota log show --at 14:02",
	}
	at := cmd.Flags().String("at", "", "the time, such as 14:02 or \"2026-11-22 14:02:05\"")
	cmd.Flags().Bool("all", false, "all tasks, without a limit")
	asked(cmd.Flags(), "at", "all")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		past, err := o.past()
		switch {
		case err != nil:
			return err
		case *at != "" && len(args) == 0:
			return o.showAt(ctx, past, *at)
		case *at != "" || len(args) == 0:
			return misused("rota log show 100, or rota log show --at 14:02",
				"log show takes an index, or --at with a time")
		}
		index, err := indexOf(args[0])
		if err != nil {
			return err
		}
		m, err := past.At(ctx, index)
		if err != nil {
			return o.notHeld(err)
		}
		return show(o, m, o.printMoment)
	})
}

func newLogDiff(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "diff A B", Short: "show what changed between two indexes of the log", Example: "  rota log diff 100 200",
		Args: exactArgs(2, "indexes: from where, and to where"),
	}
	cmd.Flags().Bool("all", false, "all that changed, however much")
	asked(cmd.Flags(), "all")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		from, err := indexOf(args[0])
		if err != nil {
			return err
		}
		to, err := indexOf(args[1])
		if err != nil {
			return err
		}
		if from > to {
			return failed(o.hint(fmt.Sprintf("rota log diff %d %d", to, from)), "index %d comes after %d", from, to)
		}
		past, err := o.past()
		if err != nil {
			return err
		}
		d, err := past.Diff(ctx, from, to)
		if err != nil {
			return o.notHeld(err)
		}
		return show(o, d, o.printDifference)
	})
}

// indexOf reads an index of the log: 48,211 too.
func indexOf(text string) (cluster.Index, error) {
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 63)
	if err != nil {
		return 0, misused("rota log show 100, or rota log diff 100 200", "%q is not an index of the log", text)
	}
	return cluster.Index(n), nil
}

// past reads the history of the place.
func (o *observer) past() (*view.Past, error) {
	historian, ok := o.proto.(protocol.Historian)
	if !ok {
		return nil, failed("rota events", "%w", &view.NoLogError{Store: o.name, Protocol: o.proto.Name()})
	}
	return &view.Past{Historian: historian, Store: o.store}, nil
}

// notHeld says which indexes can be asked for.
func (o *observer) notHeld(err error) error {
	if out, ok := errors.AsType[*view.OutOfLogError](err); ok {
		return failed(o.hint(fmt.Sprintf("rota log show %d", out.Newest.Index)),
			"store %s: %w; what is older is in a snapshot alone", o.name, err)
	}
	return fmt.Errorf("store %s: %w", o.name, err)
}

// pointText is a position of the log with its time.
func pointText(p view.Point, now time.Time) string {
	text := "index " + grouped(int(p.Index)) //nolint:gosec // an index
	if p.AtMS != 0 {
		text += fmt.Sprintf(" (%s by the clock of %s)", clock(p.AtMS, now), p.Writer)
	}
	return text
}

// heldText says how far the log goes back and how good its times are.
func (o *observer) heldText(m *view.Moment) string {
	text := fmt.Sprintf("the log goes from index %s to %s", grouped(int(m.Oldest.Index)), pointText(m.Newest, o.now)) //nolint:gosec // an index
	if m.Oldest.Index > 0 {
		text += "; what is older is in a snapshot alone"
	}
	if m.SkewMS > 0 {
		text += "; clocks of writers differ by at least " + gapText(m.SkewMS)
	}
	return text
}

func (o *observer) printMoment(m view.Moment) error {
	then := *o // "since" counts from that time
	if m.AtMS != 0 {
		then.now = time.UnixMilli(m.AtMS)
	}
	fmt.Fprintf(o.stdout, "HISTORY, not now: %s · digest %s\n%s\n", pointText(m.Point, o.now), m.Digest, o.heldText(&m))
	fmt.Fprintf(o.stdout, "%s · %s · %s\n\n", many(len(m.Members), "member"), many(m.Total, "task"),
		many(len(m.Jobs), "submitted job"))
	rows := [][]string{{"MEMBER", "STATE", "TASKS", "SLOTS", "LABELS", "SINCE"}}
	for _, x := range m.Members {
		rows = append(rows, []string{x.Member, x.State, grouped(x.Tasks), slotText(x), labelText(x.Labels),
			ago(x.SinceMS, then.now)})
	}
	if err := table(o.stdout, rows); err != nil {
		return err
	}
	fmt.Fprintln(o.stdout)
	return then.printTasks(m.Tasks)
}

func (o *observer) printDifference(d view.Difference) error {
	fmt.Fprintf(o.stdout, "HISTORY: from %s to %s\n", pointText(d.From, o.now), pointText(d.To, o.now))
	rows := differenceRows(d)
	shown := o.fits(len(rows), rowsShown)
	if err := table(o.stdout, rows[:shown]); err != nil {
		return err
	}
	o.more(len(rows)-shown, "")
	if len(rows) == 0 {
		fmt.Fprintln(o.stdout, "nothing differs")
	}
	return nil
}

func differenceRows(d view.Difference) (rows [][]string) {
	for _, c := range d.Members {
		var before, after string
		if c.Before != nil {
			before = c.Before.State + ", " + many(c.Before.Tasks, "task")
		}
		if c.After != nil {
			after = c.After.State + ", " + many(c.After.Tasks, "task")
		}
		rows = append(rows, changeRow("member", c.Member, before, after))
	}
	for _, c := range d.Jobs {
		rows = append(rows, changeRow("job", c.Job, c.Before, c.After))
	}
	for _, c := range d.Tasks {
		rows = append(rows, changeRow("task", c.Task, placeText(c.Before), placeText(c.After)))
	}
	return rows
}

// changeRow marks what came with a plus, what went with a minus.
func changeRow(kind, name, before, after string) []string {
	switch {
	case before == "":
		return []string{"+", kind, name, after}
	case after == "":
		return []string{"-", kind, name, "was " + before}
	case before == after:
		return []string{"~", kind, name, after}
	}
	return []string{"~", kind, name, before + " → " + after}
}

// placeText is where a task is, in a few words.
func placeText(t *view.Task) string {
	switch {
	case t == nil:
		return ""
	case t.Owner == "":
		return t.State
	}
	return fmt.Sprintf("%s on %s (token %d)", t.State, t.Owner, t.Token)
}

func newLog(e env) *cobra.Command {
	return group("log", "show the log, and the cluster at an earlier entry", newLogList(e), newLogShow(e),
		newLogDiff(e))
}

func newLogList(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "show the log: who said what, and what it did",
		Example: "  rota log list --store file:./rota-data\n  rota log list --from 1",
	}
	from := cmd.Flags().Uint64("from", 0, "the first index; default: the last 50 entries")
	cmd.Flags().Bool("all", false, "from the oldest entry that the log holds")
	asked(cmd.Flags(), "from", "all")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		entries, left, err := o.entries(ctx, *from)
		if err != nil {
			return err
		}
		if left > 0 {
			o.say("and %s before: %s", grouped(left), o.again("--all"))
		}
		if len(entries) == 0 {
			o.say("no entry: the log ends at %s", grouped(int(o.value.Index())))
		} else if first := entries[0].Index; *from > 0 && first > *from {
			o.say("the log begins at %s: what is older is in a snapshot alone", grouped(int(first)))
		}
		for _, x := range entries {
			if err := show(o, x, o.printEntry); err != nil {
				return err
			}
		}
		return nil
	})
}

// entries are those from an index on; without one the last few, and how many there are before.
func (o *observer) entries(ctx context.Context, from uint64) (out []view.Entry, left int, err error) {
	past, err := o.past()
	if err != nil {
		return nil, 0, err
	}
	if from == 0 && !o.all {
		out, left, err = past.Newest(ctx, rowsShown)
	} else {
		out, _, err = past.After(ctx, cluster.Index(max(from, 1)-1), math.MaxInt)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("store %s: %w", o.name, err)
	}
	return out, left, nil
}

func (o *observer) printEntry(x view.Entry) error {
	parts := make([]string, len(x.Commands))
	for i, c := range x.Commands {
		parts[i] = c.Said
		if !c.Accepted {
			parts[i] += " (did nothing: " + c.Reason + ")"
		}
	}
	text := strings.Join(parts, "; ")
	if x.Duplicate {
		text = "(a duplicate: did nothing) " + text
	}
	_, err := fmt.Fprintf(o.stdout, "%d  %s  %s  %s\n", x.Index, clock(x.AtMS, o.now), x.Writer, printable(text))
	return err
}
