package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/operate"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

const pauseHelp = `Take the tasks of a job from their members, and let nobody run them until rota resume. A task file is a job.
Its definition may change meanwhile, and members may come and go: it stays paused. Rounds that fall into the pause are caught up with as its catch_up says.`

func newPause(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "pause JOB", Short: "let nobody run a job until it is resumed", Long: pauseHelp}
	return pauser(e, cmd, func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
		return o.Pause(ctx, cluster.JobID(name))
	},
		"%s is paused · end it: rota resume %s --store %s")
}

func newResume(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "resume JOB", Short: "end a pause"}
	return pauser(e, cmd, func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
		return o.Resume(ctx, cluster.JobID(name))
	},
		"%s runs again · see where: rota why %s --store %s")
}

// pauser makes a command about pauses, which a cluster has from a format on.
func pauser(e env, cmd *cobra.Command, do func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error), done string) *cobra.Command {
	cmd.Args = exactArg("the name of a job; rota jobs --all shows them")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		if !o.value.Pauses() {
			return failed("rota configure --format 3 --store "+plain.Word(o.name)+", once all members know it", "pauses are not switched on in this cluster: they need format 3")
		}
		place, err := cmd.Flags().GetString("store")
		if err != nil {
			return err
		}
		a, err := e.operate(ctx, place, "rota jobs --all --store "+o.name, func(o *operate.Operator) (operate.Answer, error) { return do(ctx, o, args[0]) })
		if err != nil {
			return err
		}
		if o.json {
			return o.printJSON(Proposed{a.Said, true})
		}
		o.say(done, args[0], args[0], storeurl.Hide(place))
		return nil
	})
}
