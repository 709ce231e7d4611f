package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
)

func newPlan(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "plan MEMBER...", Short: "say what would move if members went; nothing is changed",
		Example: "  rota member plan web-1 web-2",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misused("rota member list", "%s wants to know which member would go", cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().Bool("all", false, "all moves and all tasks that would wait, without a limit")
	return watcher(e, cmd, func(_ context.Context, o *observer, args []string) error {
		var ids []cluster.MemberID
		for _, m := range args {
			ids = append(ids, cluster.MemberID(m))
		}
		plan, err := view.PlanWithout(o.value, ids)
		if err != nil {
			return failed(o.hint("rota member list"), "%w", err)
		}
		if o.json {
			return o.printJSON(plan)
		}
		return o.printPlan(&plan)
	})
}

func (o *observer) printPlan(p *view.Plan) error {
	head := fmt.Sprintf("would move %s of %s", grouped(len(p.Moves)), many(p.Tasks, "task"))
	var to []string
	for _, m := range p.Members {
		to = append(to, fmt.Sprintf("%s +%d%s", m.Member, max(0, m.After-m.Before), memberNote(&m)))
	}
	if len(to) > 0 {
		head += ": " + strings.Join(to, ", ")
	}
	fmt.Fprintln(o.stdout, printable(head))
	if p.Ends > 0 {
		fmt.Fprintf(o.stdout, "would end: %s that each member has one of\n", many(p.Ends, "partition"))
	}
	if len(p.Members) == 0 {
		fmt.Fprintln(o.stdout, "! no member would be left: nothing would run")
		return nil
	}
	if len(p.Waits) == 0 {
		fmt.Fprintln(o.stdout, "would wait: none")
	}
	if err := o.printPlanned(p); err != nil {
		return err
	}
	for _, s := range p.Slots {
		fmt.Fprintf(o.stdout, "slots of %s: %d → %d\n", printable(s.Task), s.Before, s.After)
	}
	return nil
}

// printPlanned lists what would wait, and the moves where they are asked for.
func (o *observer) printPlanned(p *view.Plan) error {
	shown := o.fits(len(p.Waits), problemsShown)
	var rows [][]string
	for _, w := range p.Waits[:shown] {
		why := ""
		if w.Reason != nil {
			why = ruleText(w.Reason)
		}
		rows = append(rows, []string{"! would wait", w.Task, why})
	}
	if o.all {
		for _, m := range p.Moves {
			rows = append(rows, []string{"would move", m.Task, m.From + " → " + m.To})
		}
	}
	if err := table(o.stdout, rows); err != nil {
		return err
	}
	o.more(len(p.Waits)-shown, " would wait")
	if !o.all {
		o.more(len(p.Moves), " would move")
	}
	return nil
}

func memberNote(m *view.PlanMember) string {
	switch {
	case m.State == "draining":
		return " (draining)"
	case m.State != "joined":
		return " (" + m.State + ")"
	case m.Weight != 100:
		return fmt.Sprintf(" (weight %d)", m.Weight)
	}
	return ""
}
