package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/view"
)

const replayHelp = `Shows what the cluster was at an index of the log, or what changed between two of them. It reads the entries that the log still holds: it goes back to the
last snapshot, and says how far that is. rota log prints the entries with their indexes; rota log --at TIME finds the index of a time.

A time is that of the clock of the member or command that wrote the entry. Clocks of machines differ.`

func newReplay(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "replay (--to INDEX | --diff A B)", Short: "show what the cluster was at an index of the log", Long: replayHelp, Args: cobra.MaximumNArgs(1)}
	to := cmd.Flags().String("to", "", "the index")
	diff := cmd.Flags().String("diff", "", "the first of two indexes: what changed from A to B")
	all := cmd.Flags().Bool("all", false, "all tasks, however many")
	asked(cmd.Flags(), "to", "diff", "all")
	const try = "rota replay --to 100, or rota replay --diff 100 200"
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		texts := args
		for _, first := range []string{*diff, *to} {
			if first != "" {
				texts = append([]string{first}, texts...)
			}
		}
		var indexes []cluster.Index
		for _, text := range texts {
			n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 63)
			if err != nil {
				return misused(try, "%q is not an index of the log", text)
			}
			indexes = append(indexes, cluster.Index(n))
		}
		switch past, err := o.past(); {
		case err != nil:
			return err
		case *diff != "" && *to == "" && len(indexes) == 2:
			d, err := past.Diff(ctx, indexes[0], indexes[1])
			if err != nil {
				return o.notHeld(err)
			}
			return o.printDifference(d, *all)
		case *diff == "" && *to != "" && len(indexes) == 1:
			m, err := past.At(ctx, indexes[0])
			if err != nil {
				return o.notHeld(err)
			}
			return o.printMoment(m, *all)
		}
		return misused(try, "replay takes --to with one index, or --diff with two")
	})
}

// past reads the history of the place.
func (o *observer) past() (*view.Past, error) {
	historian, ok := o.proto.(protocol.Historian)
	if !ok {
		return nil, failed("rota journal", "store %s: the protocol %s keeps no log, so nothing can be played again", o.name, o.proto.Name())
	}
	return &view.Past{Historian: historian, Store: o.store}, nil
}

// notHeld says which indexes can be asked for.
func (o *observer) notHeld(err error) error {
	var out *view.OutOfLogError
	if errors.As(err, &out) {
		return failed(o.hint(fmt.Sprintf("rota replay --to %d", out.Newest.Index)), "store %s: %w; what is older is in a snapshot alone", o.name, err)
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

func (o *observer) printMoment(m view.Moment, all bool) error {
	if o.json {
		return o.printJSON(m)
	}
	then := *o // "since" counts from that time
	if m.AtMS != 0 {
		then.now = time.UnixMilli(m.AtMS)
	}
	fmt.Fprintf(o.stdout, "HISTORY, not now: %s · digest %s\n%s\n", pointText(m.Point, o.now), m.Digest, o.heldText(&m))
	fmt.Fprintf(o.stdout, "%s · %s · %s\n\n", many(len(m.Members), "member"), many(m.Total, "task"), many(len(m.Jobs), "submitted job"))
	rows := [][]string{{"MEMBER", "STATE", "TASKS", "SLOTS", "LABELS", "SINCE"}}
	for _, x := range m.Members {
		rows = append(rows, []string{x.Member, x.State, grouped(x.Tasks), slotText(x), labelText(x.Labels), ago(x.SinceMS, then.now)})
	}
	if err := table(o.stdout, rows); err != nil {
		return err
	}
	fmt.Fprintln(o.stdout)
	shown := len(m.Tasks)
	if !all {
		shown = min(shown, rowsShown)
	}
	if err := then.printTasks(m.Tasks[:shown]); err != nil {
		return err
	}
	if more := len(m.Tasks) - shown; more > 0 {
		fmt.Fprintf(o.stdout, "and %s more: %s\n", grouped(more), o.hint(fmt.Sprintf("rota replay --to %d --all", m.Index)))
	}
	return nil
}

func (o *observer) printDifference(d view.Difference, all bool) error {
	if o.json {
		return o.printJSON(d)
	}
	fmt.Fprintf(o.stdout, "HISTORY: from %s to %s\n", pointText(d.From, o.now), pointText(d.To, o.now))
	rows := differenceRows(d)
	shown := len(rows)
	if !all {
		shown = min(shown, rowsShown)
	}
	if err := table(o.stdout, rows[:shown]); err != nil {
		return err
	}
	if more := len(rows) - shown; more > 0 {
		fmt.Fprintf(o.stdout, "and %s more: %s\n", grouped(more), o.hint(fmt.Sprintf("rota replay --diff %d %d --all", d.From.Index, d.To.Index)))
	}
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
