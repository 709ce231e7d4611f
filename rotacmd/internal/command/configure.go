package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/operate"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// Settings are those of a cluster, which all members follow.
type Settings struct {
	JobScheduler string `json:"job_scheduler"`
	MoveBudget   int64  `json:"move_budget"`
	Retention    int64  `json:"retention"`
}

const configureHelp = `Changes settings of the cluster, which all members follow from then on; without a setting it shows them.

  job-scheduler  how slots are shared among jobs: round-robin, greedy, percentage
  retention      how many jobs that have ended stay visible
  move-budget    most partitions in hand-over at once`

func newConfigure(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "configure", Short: "show the settings of the cluster, or change them", Long: configureHelp, Args: noArgs}
	flags := cmd.Flags()
	flags.String("store", "", "where the members meet: file:DIR")
	flags.String("config", "", "file of settings; default rota.yaml where there is one")
	flags.Bool("json", false, "print JSON")
	var c cluster.Configure
	flags.StringVar(&c.JobScheduler, "job-scheduler", "", "how slots are shared among jobs: round-robin, greedy, percentage")
	flags.Int64Var(&c.Retention, "retention", 0, "how many jobs that have ended stay visible")
	flags.Int64Var(&c.MoveBudget, "move-budget", 0, "most partitions in hand-over at once")
	asked(flags, "job-scheduler", "retention", "move-budget")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := given(cmd, &c); err != nil {
			return err
		}
		store, err := settleStore(e, cmd)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), answerWithin)
		defer cancel()
		if c != (cluster.Configure{}) {
			if _, err := e.operate(ctx, store, "rota configure --help", func(o *operate.Operator) (operate.Answer, error) { return o.Configure(ctx, c) }); err != nil {
				return err
			}
		}
		asJSON, _ := cmd.Flags().GetBool("json")
		return showSettings(ctx, e, store, asJSON)
	}
	return cmd
}

// given refuses a zero that was meant: in the command it stands for "leave it".
func given(cmd *cobra.Command, c *cluster.Configure) error {
	for name, n := range map[string]int64{"retention": c.Retention, "move-budget": c.MoveBudget} {
		if cmd.Flags().Changed(name) && n < 1 {
			return misused("rota configure --"+name+" 1", "%s: %d is below 1", name, n)
		}
	}
	return nil
}

func showSettings(ctx context.Context, e env, store string, asJSON bool) error {
	st, err := openStore(ctx, e, store, look)
	if err != nil {
		return err
	}
	defer st.Close()
	o := &observer{env: e, name: storeurl.Hide(store), store: st, now: time.Now()}
	if err := o.refresh(ctx); err != nil {
		return err
	}
	s := o.value.Settings()
	shown := Settings{s.JobScheduler.String(), s.MoveBudget, s.Retention}
	if asJSON {
		return e.printJSON(shown)
	}
	return table(e.stdout, [][]string{
		{"SETTING", "VALUE", ""},
		{"job-scheduler", shown.JobScheduler, "how slots are shared among jobs"},
		{"retention", fmt.Sprint(shown.Retention), "jobs that have ended stay visible"},
		{"move-budget", fmt.Sprint(shown.MoveBudget), "most partitions in hand-over at once"},
	})
}
