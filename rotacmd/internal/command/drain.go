package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/operate"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

func newDrain(e env) *cobra.Command {
	cmd := proposer(e, &cobra.Command{Use: "drain MEMBER", Short: "move a member's tasks away and give it no more"}, "members",
		func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
			return o.Drain(ctx, cluster.MemberID(name))
		},
		"%s is draining: its tasks move away · watch it: rota members --store %s")
	wait := cmd.Flags().Bool("wait", false, "wait until the member has no task any more")
	asked(cmd.Flags(), "wait")
	drain := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := drain(cmd, args); err != nil || !*wait {
			return err
		}
		return waitDrained(e, cmd, cluster.MemberID(args[0]))
	}
	return cmd
}

func newUndrain(e env) *cobra.Command {
	return proposer(e, &cobra.Command{Use: "undrain MEMBER", Short: "give a drained member tasks again"}, "members",
		func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
			return o.Undrain(ctx, cluster.MemberID(name))
		},
		"%s takes tasks again · see them: rota members --store %s")
}

func newUnpark(e env) *cobra.Command {
	return proposer(e, &cobra.Command{Use: "unpark TASK", Short: "try a task again that failed too often"}, "tasks --state parked",
		func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
			return o.Unpark(ctx, cluster.PartitionID(name))
		},
		"%s is tried again · watch it: rota journal --store %s")
}

func newKill(e env) *cobra.Command {
	return proposer(e, &cobra.Command{Use: "kill JOB", Short: "end a job; that of a task file ends when its file goes"}, "jobs --all",
		func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error) {
			return o.Kill(ctx, cluster.JobID(name))
		},
		"%s is killed · see what is left: rota jobs --store %s")
}

// Proposed is what a command that changes the cluster prints as JSON.
type Proposed struct {
	Said     string `json:"said"`
	Accepted bool   `json:"accepted"`
}

// proposer makes a command that asks one thing of the cluster, as a client of the store: no member is needed.
func proposer(e env, cmd *cobra.Command, list string, do func(ctx context.Context, o *operate.Operator, name string) (operate.Answer, error), done string) *cobra.Command {
	cmd.Args = exactArg("a name; rota " + list + " shows them")
	flags := cmd.Flags()
	flags.String("store", "", "where the members meet: "+storeForms)
	flags.String("config", "", "file of settings; default rota.yaml where there is one")
	flags.Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, err := settleStore(e, cmd)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), answerWithin)
		defer cancel()
		a, err := e.operate(ctx, store, "rota "+list+" --store "+storeurl.Hide(store), func(o *operate.Operator) (operate.Answer, error) { return do(ctx, o, args[0]) })
		if err != nil {
			return err
		}
		if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
			return e.printJSON(Proposed{a.Said, true})
		}
		e.say(done, args[0], storeurl.Hide(store))
		return nil
	}
	return cmd
}

// operate asks something of the cluster of a store. What is refused has this way out, unless it has one of its own.
func (e env) operate(ctx context.Context, store, try string, do func(o *operate.Operator) (operate.Answer, error)) (operate.Answer, error) {
	st, err := openStore(ctx, e, store, change)
	if err != nil {
		return operate.Answer{}, err
	}
	defer st.Close()
	o, err := e.operatorOn(ctx, st, "", nil)
	if err != nil {
		return operate.Answer{}, fmt.Errorf("store %s: %w", storeurl.Hide(store), err)
	}
	a, err := do(o)
	if err != nil {
		return a, refusal(err, storeurl.Hide(store), try)
	}
	e.journaled(a)
	return a, nil
}

// operatorOn is what asks the cluster of an open store, by the protocol that is asked for.
func (e env) operatorOn(ctx context.Context, st store.Full, asked string, types work.Types) (*operate.Operator, error) {
	p, err := protocolFor(ctx, asked, st)
	if err != nil {
		return nil, err
	}
	by := asker(e)
	return operate.New(operate.Outside(p, st, by), st, types, by), nil
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
