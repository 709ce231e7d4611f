package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/plain"
)

// Settings are those of a cluster, which all members follow.
type Settings struct {
	JobScheduler string `json:"job_scheduler"`
	MoveBudget   int64  `json:"move_budget"`
	Retention    int64  `json:"retention"`
}

func newCluster(e env) *cobra.Command {
	return group("cluster", "show the settings of the cluster, which all members follow, or change them", newClusterGet(e), newClusterSet(e), newClusterRebalance(e))
}

func newClusterGet(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get", Short: "show the settings of the cluster", Example: "  rota cluster get --store file:./rota-data",
	}
	return watcher(e, cmd, func(_ context.Context, o *observer, _ []string) error { return o.showSettings() })
}

func newClusterSet(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set", Short: "change settings of the cluster", Example: "  rota cluster set --job-scheduler greedy --retention 100",
	}
	flags := cmd.Flags()
	var c cluster.Configure
	flags.StringVar(&c.JobScheduler, "job-scheduler", "", "how slots are shared among jobs: round-robin, greedy, percentage")
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
		try := "rota cluster set --move-budget 0 --store " + plain.Word(o.name)
		a, err := o.operate(ctx, try, func(op *operate.Operator) (operate.Answer, error) { return op.Rebalance(ctx) })
		switch {
		case err != nil:
			return err
		case o.json:
			return o.printJSON(Proposed{a.Said, true})
		}
		o.say("what is uneven moves · see it: rota events --kind moved --store %s", plain.Word(o.name))
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
