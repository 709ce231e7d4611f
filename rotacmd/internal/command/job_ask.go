package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
)

const pauseHelp = `Take the tasks of a job from their members, and let nobody run them until rota job resume. A task file is a job.
Its definition may change meanwhile, and members may come and go: it stays paused. Rounds that fall into the pause are
caught up with as its catch_up says.`

func newPause(e env) *cobra.Command {
	return jobAsker(e, &cobra.Command{
		Use: "pause JOB", Short: "let nobody run a job until it is resumed", Long: pauseHelp, Example: "  rota job pause etl",
	}, (*operate.Operator).Pause, "%[1]s is paused · end it: rota job resume %[1]s --store %[2]s")
}

func newResume(e env) *cobra.Command {
	return jobAsker(e, &cobra.Command{
		Use: "resume JOB", Short: "end a pause", Example: "  rota job resume etl",
	}, (*operate.Operator).Resume, "%[1]s runs again · see where: rota why %[1]s --store %[2]s")
}

func newStop(e env) *cobra.Command {
	return jobAsker(e, &cobra.Command{
		Use: "stop JOB", Short: "end a job; that of a task file ends when its file goes", Example: "  rota job stop etl",
	}, (*operate.Operator).Kill, "%s is killed · see what is left: rota job list --store %s")
}

func jobAsker(
	e env, cmd *cobra.Command, do func(*operate.Operator, context.Context, cluster.JobID) (operate.Answer, error), done string,
) *cobra.Command {
	return proposer(e, cmd, asking{
		list: "job list --all",
		do: func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
			return do(o, ctx, cluster.JobID(name))
		},
		done: done,
	})
}
