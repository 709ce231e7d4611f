package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// Proposed is what a command that changes the cluster prints as JSON.
type Proposed struct {
	Said     string `json:"said"`
	Accepted bool   `json:"accepted"`
}

// asking is one thing that is asked of a cluster for what has a name.
type asking struct {
	list string // the command that shows the names
	do   func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error)
	done string                                                      // what is said, with the name and the store
	then func(ctx context.Context, o *observer, args []string) error // after that; nil for nothing
}

// proposer makes a command that asks one thing of the cluster.
func proposer(e env, cmd *cobra.Command, a asking) *cobra.Command {
	cmd.Args = exactArg("a name; rota " + a.list + " shows them")
	return changer(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		try := "rota " + a.list + " --store " + plain.Word(o.name)
		answer, err := o.operate(ctx, try, func(op *operate.Operator) (operate.Answer, error) { return a.do(ctx, op, args[0]) })
		if err != nil {
			return err
		}
		if o.json {
			err = o.printJSON(Proposed{answer.Said, true})
		} else {
			o.say(a.done, args[0], plain.Word(o.name))
		}
		if err != nil || a.then == nil {
			return err
		}
		return a.then(ctx, o, args)
	})
}

// operate asks something of the cluster. What is refused has this way out, unless it has one of its own.
func (o *observer) operate(
	ctx context.Context, try string, do func(op *operate.Operator) (operate.Answer, error),
) (operate.Answer, error) {
	op, err := o.operatorOn(ctx, o.store, o.viewer.Queue, "", nil)
	if err != nil {
		return operate.Answer{}, fmt.Errorf("store %s: %w", o.name, err)
	}
	a, err := do(op)
	if err != nil {
		return a, refusal(err, o.name, try)
	}
	o.journaled(a)
	return a, nil
}

// operatorOn is what asks the cluster of an open store, by the protocol that is asked for.
func (e env) operatorOn(ctx context.Context, st store.Full, queue store.Queue, asked string, types work.Types) (*operate.Operator, error) {
	p, err := protocolFor(ctx, asked, st)
	if err != nil {
		return nil, err
	}
	by := asker(e)
	return operate.New(operate.Outside(p, st, by), st, queue, types, by), nil
}

// refusal gives an answer of the cluster the form of a command's error.
func refusal(err error, place, try string) error {
	var invalid *operate.InvalidError
	var r *operate.RefusedError
	switch {
	case errors.As(err, &invalid):
		return misused(try, "%w", err)
	case errors.As(err, &r):
		return failed(cmp.Or(r.Try, try), "%s: %s", r.Said, cmp.Or(r.Reason, r.Kind.Error()))
	}
	return fmt.Errorf("store %s: %w", place, otherProtocol(err))
}

// journaled tells the user what the journal does not have.
func (e env) journaled(a operate.Answer) {
	if a.Unjournaled != nil {
		e.say("it is done, and not in the journal: %v", a.Unjournaled)
	}
	if a.Unheard != nil {
		e.say("it is done; tasks of the flow that have had nothing to do see it within 20 s: %v", a.Unheard)
	}
}

// asker is who runs this command, as user@host.
func asker(e env) string {
	name := cmp.Or(e.getenv("SUDO_USER"), e.getenv("USER"), e.getenv("LOGNAME"), fmt.Sprint("uid-", os.Getuid()))
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}
