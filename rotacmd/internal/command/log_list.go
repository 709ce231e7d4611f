package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/view"
)

func newLog(e env) *cobra.Command {
	return group("log", "show the log, and the cluster at an earlier entry", newLogList(e), newLogShow(e), newLogDiff(e))
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
		entries, left, err := o.history(ctx, *from)
		if err != nil {
			return err
		}
		if left > 0 {
			o.say("and %s before: %s", grouped(left), o.again("--all"))
		}
		for _, x := range entries {
			if err := o.printEntry(x); err != nil {
				return err
			}
		}
		return nil
	})
}

// history collects the entries from an index on; without one the last few, and how many there are before.
func (o *observer) history(ctx context.Context, from uint64) (out []view.Entry, left int, err error) {
	after := cluster.Index(0)
	if from > 0 {
		after = cluster.Index(from - 1)
	}
	historian, ok := o.proto.(protocol.Historian)
	if !ok {
		return nil, 0, failed("rota events", "store %s: the protocol %s keeps no log", o.name, o.proto.Name())
	}
	trim := func(most int) {
		if from == 0 && !o.all && len(out) > most {
			left += len(out) - rowsShown
			out = append(out[:0:0], out[len(out)-rowsShown:]...)
		}
	}
	err = historian.History(ctx, o.store, after, func(v cluster.Value, a protocol.Applied) bool {
		out = append(out, view.EntryOf(v, a))
		trim(2 * rowsShown)
		return true
	})
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("store %s", o.name), err)
	}
	trim(rowsShown)
	return out, left, nil
}

func (o *observer) printEntry(x view.Entry) error {
	if o.json {
		return o.printJSON(x)
	}
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
