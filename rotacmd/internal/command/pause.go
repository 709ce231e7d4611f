package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

const pauseHelp = `Take the tasks of a job from their members, and let nobody run them until rota resume. A task file is a job.
Its definition may change meanwhile, and members may come and go: it stays paused. Rounds that fall into the pause are caught up with as its catch_up says.`

func newPause(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "pause JOB", Short: "let nobody run a job until it is resumed", Long: pauseHelp}
	return pauser(e, cmd, func(name string) cluster.Command { return cluster.PauseJob{Job: cluster.JobID(name), By: asker(e)} },
		"%s is paused · end it: rota resume %s --store %s")
}

func newResume(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "resume JOB", Short: "end a pause"}
	return pauser(e, cmd, func(name string) cluster.Command { return cluster.ResumeJob{Job: cluster.JobID(name)} },
		"%s runs again · see where: rota why %s --store %s")
}

// pauser makes a command about pauses.
func pauser(e env, cmd *cobra.Command, command func(name string) cluster.Command, done string) *cobra.Command {
	cmd.Args = exactArg("the name of a job; rota jobs --all shows them")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		place, err := cmd.Flags().GetString("store")
		if err != nil {
			return err
		}
		c := command(args[0])
		if err := propose(ctx, e, place, c, "rota jobs --all --store "+o.name); err != nil {
			return err
		}
		if o.json {
			return o.printJSON(Proposed{fmt.Sprint(c), true})
		}
		o.say(done, args[0], args[0], storeurl.Hide(place))
		return nil
	})
}
