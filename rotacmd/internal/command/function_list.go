package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/view"
)

func newCallList(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "list calls of functions: what waits, runs, or has an outcome that nobody has collected",
		Example: "  rota function list --state running",
	}
	state := cmd.Flags().String("state", "", "only those that are "+strings.Join(view.CallStates(), ", "))
	cmd.Flags().Bool("all", false, "all calls")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if err := checkState(*state, view.CallStates()); err != nil {
			return err
		}
		shown, unreadable, err := view.Calls(ctx, o.store, *state)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
		if unreadable > 0 {
			o.say("! %s cannot be read", many(unreadable, "call"))
		}
		return o.printCalls(shown)
	})
}

func (o *observer) printCalls(calls []view.Call) error {
	if o.json {
		return o.printJSON(calls)
	}
	if len(calls) == 0 {
		o.say("no calls")
		return nil
	}
	return o.list([]string{"CALL", "FUNCTION", "STATE", "ATTEMPT", "MEMBER", "ERROR"}, len(calls), func(i int) []string {
		c, member := &calls[i], "-"
		if c.Runner != nil {
			member = string(c.Runner.Member)
		}
		return []string{c.ID, c.Function, string(c.State), strconv.FormatInt(c.Attempt, 10), member, firstLine(c.Error)}
	})
}
