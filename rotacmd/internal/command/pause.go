package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/operate"
)

const pauseHelp = `Take the tasks of a job from their members, and let nobody run them until rota resume. A task file is a job.
Its definition may change meanwhile, and members may come and go: it stays paused. Rounds that fall into the pause are caught up with as its catch_up says.`

func newPause(e env) *cobra.Command {
	return proposer(e, &cobra.Command{Use: "pause JOB", Short: "let nobody run a job until it is resumed", Long: pauseHelp}, "jobs --all",
		func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
			return o.Pause(ctx, cluster.JobID(name))
		},
		"%[1]s is paused · end it: rota resume %[1]s --store %[2]s")
}

func newResume(e env) *cobra.Command {
	return proposer(e, &cobra.Command{Use: "resume JOB", Short: "end a pause"}, "jobs --all",
		func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
			return o.Resume(ctx, cluster.JobID(name))
		},
		"%[1]s runs again · see where: rota why %[1]s --store %[2]s")
}
