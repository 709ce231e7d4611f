package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
)

const triggerHelp = `Start a round of a periodic task (every, cron) at once, or when its present round is over.
The planned rounds stay as they are. If the owner stops before the round is over, the next owner runs it: at least once.
A job, or a task of spread every, is all of its partitions.`

// askedWithin is between two looks whether a round is over.
const askedWithin = 250 * time.Millisecond

func newTaskTrigger(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "trigger TASK", Short: "have a task begin a round now", Long: triggerHelp,
		Args:    exactArg("the name of a task; rota task list shows them"),
		Example: "  rota task trigger nightly --wait",
	}
	wait := cmd.Flags().Bool("wait", false, "until the round is over")
	asked(cmd.Flags(), "wait")
	return changer(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		types, err := e.typesOf(allowed{}, false)
		if err != nil {
			return err
		}
		op, err := o.operatorOn(ctx, o.store, nil, "", types)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
		asks, a, err := op.RunNow(ctx, args[0])
		if err != nil {
			return refusal(err, o.name, o.hint("rota why "+plain.Word(args[0])))
		}
		o.journaled(a)
		if *wait {
			err = awaitRounds(cmd.Context(), o.store, asks)
		}
		return errors.Join(err, o.sayAsked(args[0], len(asks), *wait && err == nil))
	})
}

func newTaskRetry(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "retry TASK", Short: "try a parked task again, which failed too often", Example: "  rota task retry weather",
	}
	return proposer(e, cmd, asking{
		list: "task list --state parked",
		do: func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
			return o.Unpark(ctx, cluster.PartitionID(name))
		},
		done: "%s is tried again · watch it: rota events --store %s",
	})
}

// awaitRounds returns when all rounds are over.
func awaitRounds(ctx context.Context, docs store.Docs, asks []supervisor.Ask) error {
	for _, ask := range asks {
		for {
			over, err := ask.Answered(ctx, docs)
			if err != nil {
				return fmt.Errorf("look whether the round is over: %w", err)
			}
			if over {
				break
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(askedWithin):
			}
		}
	}
	return nil
}

func (o *observer) sayAsked(name string, n int, over bool) error {
	if o.json {
		return o.printJSON(Proposed{"run-now " + name, true})
	}
	what := "a round"
	if n > 1 {
		what = fmt.Sprintf("a round of %d partitions", n)
	}
	did := "runs " + what + " now"
	if over {
		did = "has run " + what
	}
	o.say("%s %s · how it went: rota why %s --store %s", name, did, plain.Word(name), plain.Word(o.name))
	return nil
}
