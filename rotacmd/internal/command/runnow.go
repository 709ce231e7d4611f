package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

const runNowHelp = `Have the owner of a task that runs in rounds (every, cron) begin one at once, or when its present round is over.
The planned rounds stay as they are. If the owner stops before the round is over, the next owner runs it: at least once.
A job, or a task of spread every, is all of its partitions.`

// askedWithin is between two looks whether a round is over.
const askedWithin = 250 * time.Millisecond

func newRunNow(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "run-now TASK", Short: "have a task begin a round now", Long: runNowHelp, Args: exactArg("the name of a task; rota tasks shows them")}
	wait := cmd.Flags().Bool("wait", false, "until the round is over")
	asked(cmd.Flags(), "wait")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		place, err := cmd.Flags().GetString("store")
		if err != nil {
			return err
		}
		st, err := openStore(ctx, e, place, change)
		if err != nil {
			return err
		}
		defer st.Close()
		types, err := e.typesOf(allowed{}, false)
		if err != nil {
			return err
		}
		op, err := e.operatorOn(ctx, st, "", types)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
		name := args[0]
		asks, a, err := op.RunNow(ctx, name)
		if err != nil {
			return refusal(err, o.name, "rota why "+plain.Word(name)+" --store "+plain.Word(o.name))
		}
		e.journaled(a)
		if *wait {
			err = awaitRounds(cmd.Context(), st, asks)
		}
		return errors.Join(err, o.sayAsked(name, storeurl.Hide(place), len(asks), *wait && err == nil))
	})
}

// awaitRounds returns when all rounds are over.
func awaitRounds(ctx context.Context, docs store.Docs, asks []work.Ask) error {
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

func (o *observer) sayAsked(name, place string, n int, over bool) error {
	if o.json {
		return o.printJSON(Proposed{"run-now " + name, true})
	}
	what := "a round"
	if n > 1 {
		what = fmt.Sprintf("a round of %d partitions", n)
	}
	if over {
		o.say("%s has run %s · how it went: rota why %s --store %s", name, what, name, place)
	} else {
		o.say("%s runs %s now · how it went: rota why %s --store %s", name, what, name, place)
	}
	return nil
}
