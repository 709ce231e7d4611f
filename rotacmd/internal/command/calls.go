package command

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/call"
)

func newCalls(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "calls", Short: "list calls of functions: what waits, runs, or has an outcome that nobody has collected"}
	state := cmd.Flags().String("state", "", "only those that are queued, running, done, failed or cancelled")
	limit := cmd.Flags().Int("limit", rowsShown, "at most so many rows")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		all, unreadable, err := call.List(ctx, o.store)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
		shown := make([]call.Listed, 0, len(all))
		for _, c := range all {
			if *state == "" || string(c.State) == *state {
				shown = append(shown, c)
			}
		}
		if unreadable > 0 {
			o.say("! %s cannot be read", many(unreadable, "call"))
		}
		if o.json {
			return o.printJSON(shown)
		}
		return o.printCalls(shown, *limit)
	})
}

func (o *observer) printCalls(calls []call.Listed, limit int) error {
	if len(calls) == 0 {
		o.say("no calls")
		return nil
	}
	rows := [][]string{{"CALL", "FUNCTION", "STATE", "ATTEMPT", "MEMBER", "ERROR"}}
	for _, c := range calls[:min(len(calls), max(limit, 1))] {
		member := "-"
		if c.Runner != nil {
			member = string(c.Runner.Member)
		}
		rows = append(rows, []string{c.ID, c.Function, string(c.State), strconv.FormatInt(c.Attempt, 10), member, firstLine(c.Error)})
	}
	if err := table(o.stdout, rows); err != nil {
		return err
	}
	if more := len(calls) - len(rows) + 1; more > 0 {
		o.say("and %s more: rota calls --limit %d --store %s", grouped(more), len(calls), o.name)
	}
	return nil
}
