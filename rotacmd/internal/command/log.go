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
	cmd := &cobra.Command{Use: "log", Short: "show the log: who said what, and what it did"}
	from := cmd.Flags().Uint64("from", 0, "the first index; default: the last 50 entries")
	at := cmd.Flags().String("at", "", "instead: what the cluster was at this time, such as 14:02 or \"2026-11-22 14:02:05\"")
	all := cmd.Flags().Bool("all", false, "with --at: all tasks, however many")
	asked(cmd.Flags(), "from", "at", "all")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if *at != "" {
			return o.logAt(ctx, *at, *all)
		}
		entries, err := o.history(ctx, *from)
		if err != nil {
			return err
		}
		for _, x := range entries {
			if err := o.printEntry(x); err != nil {
				return err
			}
		}
		return nil
	})
}

// history collects the entries from an index on; without one the last few.
func (o *observer) history(ctx context.Context, from uint64) ([]view.Entry, error) {
	var out []view.Entry
	after := cluster.Index(0)
	if from > 0 {
		after = cluster.Index(from - 1)
	}
	historian, ok := o.proto.(protocol.Historian)
	if !ok {
		return nil, failed("rota journal", "store %s: the protocol %s keeps no log", o.name, o.proto.Name())
	}
	err := historian.History(ctx, o.store, after, func(v cluster.Value, a protocol.Applied) bool {
		out = append(out, view.EntryOf(v, a))
		if from == 0 && len(out) > 2*rowsShown {
			out = append(out[:0:0], out[len(out)-rowsShown:]...)
		}
		return true
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store %s", o.name), err)
	}
	if from == 0 && len(out) > rowsShown {
		out = out[len(out)-rowsShown:]
	}
	return out, nil
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
