package command

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
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
		entries, left, err := o.entries(ctx, *from)
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
