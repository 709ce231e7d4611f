package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/view"
)

func newMember(e env) *cobra.Command {
	return group("member", "list members, drain them, plan without them",
		newMemberList(e), newMemberShow(e), newDrain(e), newUndrain(e), newEvict(e), newPlan(e))
}

func newMemberList(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list the members",
		Example: "  rota member list --store file:./rota-data"}
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		return show(o, sight.Members(), o.printMembers)
	})
}

func newMemberShow(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show MEMBER", Short: "show a member and its tasks",
		Args:    exactArg("a member; rota member list shows them"),
		Example: "  rota member show web-1",
	}
	cmd.Flags().Bool("all", false, "all its tasks, without a limit")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		m, ok := o.value.Member(cluster.MemberID(args[0]))
		if !ok {
			return failed(o.hint("rota member list"), "there is no member %q", args[0])
		}
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		return show(o, sight.Member(m), func(shown view.Member) error {
			if err := o.printMembers([]view.Member{shown}); err != nil {
				return err
			}
			fmt.Fprintln(o.stdout)
			return o.printTasks(sight.Tasks(view.Filter{Owner: args[0]}))
		})
	})
}

func (o *observer) printMembers(members []view.Member) error {
	rows := [][]string{{
		"MEMBER", "STATE", "HEARTBEAT", "GUARDIAN", "TASKS", "SLOTS", "WEIGHT", "LABELS", "SINCE", "API", "VERSION", "",
	}}
	for _, m := range members {
		rows = append(rows, []string{
			m.Member, m.State, heartbeatText(m.Heartbeat, o.now), guardianText(m.Heartbeat), grouped(m.Tasks),
			slotText(m),
			fmt.Sprint(m.Weight), labelText(m.Labels), ago(m.SinceMS, o.now), dash(m.Address), dash(m.Version),
			leaving(m),
		})
	}
	return table(o.stdout, rows)
}

func guardianText(h *view.Heartbeat) string {
	if h == nil {
		return "-"
	}
	return dash(h.Guardian)
}

// slotText is how many slots are taken of those that there are.
func slotText(m view.Member) string {
	if m.Slots == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", m.SlotsTaken, m.Slots)
}

// labelText leaves out the labels that Rota gives itself.
func labelText(labels map[string]string) string {
	var out []string
	for k, v := range labels {
		if !strings.HasPrefix(k, "rota.") {
			out = append(out, k+"="+v)
		}
	}
	slices.Sort(out)
	return dash(strings.Join(out, ","))
}

func dash(s string) string { return cmp.Or(s, "-") }

func leaving(m view.Member) string {
	if m.Leaving == 0 {
		return ""
	}
	return fmt.Sprintf("%d on their way to others", m.Leaving)
}

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
		return show(o, &plan, o.printPlan)
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
	if !o.all && len(p.Moves) > 0 {
		fmt.Fprintf(o.stdout, "the moves: %s\n", o.again("--all"))
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

// Settings are those of a cluster, which all members follow.
type Settings struct {
	JobScheduler string `json:"job_scheduler"`
	MoveBudget   int64  `json:"move_budget"`
	Retention    int64  `json:"retention"`
}

func newCluster(e env) *cobra.Command {
	return group("cluster", "show the settings of the cluster, which all members follow, or change them",
		newClusterGet(e), newClusterSet(e), newClusterRebalance(e))
}

func newClusterGet(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get", Short: "show the settings of the cluster", Example: "  rota cluster get --store file:./rota-data",
	}
	return watcher(e, cmd, func(_ context.Context, o *observer, _ []string) error { return o.showSettings() })
}

func newClusterSet(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set", Short: "change settings of the cluster",
		Example: "  rota cluster set --job-scheduler greedy --retention 100",
	}
	flags := cmd.Flags()
	var c cluster.Configure
	flags.StringVar(&c.JobScheduler, "job-scheduler", "",
		"how slots are shared among jobs: round-robin, greedy, percentage")
	flags.Int64Var(&c.Retention, "retention", 0, "how many jobs that have ended stay visible")
	budget := flags.Int64("move-budget", 0, "most partitions in hand-over at once; 0: "+pinnedText)
	asked(flags, "job-scheduler", "retention", "move-budget")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		// A zero stands for "leave it" in the command of the log.
		if cmd.Flags().Changed("retention") && c.Retention < 1 {
			return misused("rota cluster set --retention 1", "retention: %d is below 1", c.Retention)
		}
		if cmd.Flags().Changed("move-budget") {
			if c.MoveBudget = *budget; c.MoveBudget < 0 {
				return misused("rota cluster set --move-budget 0", "move-budget: %d is below 0", c.MoveBudget)
			} else if c.MoveBudget == 0 {
				c.MoveBudget = cluster.NoMoves
			}
		}
		if c == (cluster.Configure{}) {
			return misused("rota cluster set --help, or rota cluster get", "cluster set wants a setting")
		}
		return nil
	}
	return changer(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		_, err := o.operate(ctx, "rota cluster set --help", func(op *operate.Operator) (operate.Answer, error) {
			return op.Configure(ctx, c)
		})
		if err != nil {
			return err
		}
		if err := o.refresh(ctx); err != nil {
			return err
		}
		return o.showSettings()
	})
}

const pinnedText = "what runs stays where it is until rota cluster rebalance"

const rebalanceHelp = `Where the move budget is 0, what runs stays with its member while that lives. This moves it on demand, once, until the
load is even. Tasks that stay, such as those of type command, do not move.`

func newClusterRebalance(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rebalance", Short: "even the load once, where the move budget is 0",
		Example: "  rota cluster rebalance", Long: rebalanceHelp,
	}
	return changer(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		try := "rota cluster set --move-budget 0 --store " + storeWord(o.url)
		a, err := o.operate(ctx, try, func(op *operate.Operator) (operate.Answer, error) { return op.Rebalance(ctx) })
		switch {
		case err != nil:
			return err
		case o.json:
			return o.printJSON(Proposed{a.Said, true})
		}
		o.say("what is uneven moves · see it: rota events --kind moved --store %s", storeWord(o.url))
		return nil
	})
}

func (o *observer) showSettings() error {
	s := o.value.Settings()
	shown, moves := Settings{s.JobScheduler.String(), s.MoveBudget, s.Retention}, "most partitions in hand-over at once"
	if s.Pinned {
		shown.MoveBudget, moves = 0, pinnedText
	}
	if o.json {
		return o.printJSON(shown)
	}
	return table(o.stdout, [][]string{
		{"SETTING", "VALUE", ""},
		{"job-scheduler", shown.JobScheduler, "how slots are shared among jobs"},
		{"retention", fmt.Sprint(shown.Retention), "jobs that have ended stay visible"},
		{"move-budget", fmt.Sprint(shown.MoveBudget), moves},
	})
}
