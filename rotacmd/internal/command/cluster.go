package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/operate"
)

// Settings are those of a cluster, which all members follow.
type Settings struct {
	JobScheduler string `json:"job_scheduler"`
	MoveBudget   int64  `json:"move_budget"`
	Retention    int64  `json:"retention"`
}

func newCluster(e env) *cobra.Command {
	return group("cluster", "show the settings of the cluster, which all members follow, or change them", newClusterGet(e), newClusterSet(e))
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
	flags.Int64Var(&c.MoveBudget, "move-budget", 0, "most partitions in hand-over at once")
	asked(flags, "job-scheduler", "retention", "move-budget")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		// A zero stands for "leave it" in the command of the log, so one that was meant is refused.
		for name, n := range map[string]int64{"retention": c.Retention, "move-budget": c.MoveBudget} {
			if cmd.Flags().Changed(name) && n < 1 {
				return misused("rota cluster set --"+name+" 1", "%s: %d is below 1", name, n)
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

func (o *observer) showSettings() error {
	s := o.value.Settings()
	shown := Settings{s.JobScheduler.String(), s.MoveBudget, s.Retention}
	if o.json {
		return o.printJSON(shown)
	}
	return table(o.stdout, [][]string{
		{"SETTING", "VALUE", ""},
		{"job-scheduler", shown.JobScheduler, "how slots are shared among jobs"},
		{"retention", fmt.Sprint(shown.Retention), "jobs that have ended stay visible"},
		{"move-budget", fmt.Sprint(shown.MoveBudget), "most partitions in hand-over at once"},
	})
}
