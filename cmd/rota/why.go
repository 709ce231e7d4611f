package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

func newWhy(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "why TASK", Short: "explain where a task runs, or why it does not", Args: exactArg("the task")}
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		records, err := o.journal(ctx, journal.Query{Partition: args[0], Limit: 20})
		if err != nil {
			return err
		}
		w, ok := api.WhyOf(o.value, cluster.PartitionID(args[0]), records)
		if !ok && len(records) == 0 {
			return failed("rota tasks --all", "there is no task %q", args[0])
		}
		if !ok {
			w = api.Why{Task: api.Task{Task: args[0], State: "gone"}, History: records}
		}
		if o.json {
			return o.printJSON(w)
		}
		o.printWhy(w)
		return nil
	})
}

func (o *observer) printWhy(w api.Why) {
	head := fmt.Sprintf("%s is %s", w.Task.Task, w.State)
	if w.Owner != "" {
		head += " on " + w.Owner
	}
	if w.Next != "" {
		head += ", on its way to " + w.Next
	}
	if w.SinceMS > 0 {
		head += fmt.Sprintf(" since %s (%s)", clock(w.SinceMS, o.now), ago(w.SinceMS, o.now))
	}
	fmt.Fprintln(o.stdout, printable(head)+".")
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(o.stdout, "  %-8s%s\n", name, printable(text))
		}
	}
	if w.Reason != nil {
		row("rule", w.Reason.Rule)
		row("", w.Reason.Text)
		row("next", w.Reason.Try)
	}
	if w.Cause != "" && w.From != "" {
		row("came", "from "+w.From+": "+w.Cause)
	}
	if len(w.Labels) > 0 {
		row("labels", labelText(w.Labels))
	}
	if w.Token != 0 {
		row("token", fmt.Sprint(w.Token))
	}
	row("slots", strings.Join(w.Slots, " "))
	row("failed", w.Message)
	if len(w.History) > 0 {
		fmt.Fprintln(o.stdout, "history")
	}
	for _, r := range w.History {
		fmt.Fprintf(o.stdout, "  %s  %-10s %s\n", clock(r.AtMS, o.now), r.Kind, printable(r.Line()))
	}
}
