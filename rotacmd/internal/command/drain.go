package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/node"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
)

func newDrain(e env) *cobra.Command {
	cmd := proposer(e, &cobra.Command{Use: "drain MEMBER", Short: "move a member's tasks away and give it no more"}, "members",
		func(name string) cluster.Command {
			return cluster.DrainMember{Member: cluster.MemberID(name), On: true}
		},
		"%s is draining: its tasks move away · watch it: rota members --store %s")
	wait := cmd.Flags().Bool("wait", false, "wait until the member has no task any more")
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
		func(name string) cluster.Command { return cluster.DrainMember{Member: cluster.MemberID(name)} },
		"%s takes tasks again · see them: rota members --store %s")
}

func newUnpark(e env) *cobra.Command {
	return proposer(e, &cobra.Command{Use: "unpark TASK", Short: "try a task again that failed too often"}, "tasks --state parked",
		func(name string) cluster.Command {
			return cluster.UnparkPartition{Partition: cluster.PartitionID(name)}
		},
		"%s is tried again · watch it: rota journal --store %s")
}

func newKill(e env) *cobra.Command {
	return proposer(e, &cobra.Command{Use: "kill JOB", Short: "end a job; one that a file defines comes back unless the file goes"}, "jobs --all",
		func(name string) cluster.Command { return cluster.KillJob{Job: cluster.JobID(name)} },
		"%s is killed · see what is left: rota jobs --store %s")
}

// Proposed is what a command that changes the cluster prints as JSON.
type Proposed struct {
	Said     string `json:"said"`
	Accepted bool   `json:"accepted"`
}

// proposer makes a command that appends one command to the log, as a client of the store: no member is needed.
func proposer(e env, cmd *cobra.Command, list string, command func(name string) cluster.Command, done string) *cobra.Command {
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
		c, try := command(args[0]), "rota "+list+" --store "+storeurl.Hide(store)
		if err := propose(ctx, e, store, c, try); err != nil {
			return err
		}
		if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
			return e.printJSON(Proposed{fmt.Sprint(c), true})
		}
		e.say(done, args[0], storeurl.Hide(store))
		return nil
	}
	return cmd
}

func propose(ctx context.Context, e env, store string, c cluster.Command, try string) error {
	st, err := openStore(ctx, e, store, change)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := cluster.CheckCommand(c); err != nil {
		return misused(try, "%w", err)
	}
	res, err := proposeOn(ctx, st, "", c)
	if err != nil {
		return fmt.Errorf("store %s: %w", storeurl.Hide(store), err)
	}
	back, err := keepDrained(ctx, e, st, c, res[0].Accepted)
	if err != nil {
		return fmt.Errorf("store %s: %w", storeurl.Hide(store), err)
	}
	if !res[0].Accepted && !back {
		return failed(try, "%v: %s", c, res[0].Reason)
	}
	tell(ctx, e, st, c)
	return nil
}

// keepDrained keeps the word about a member for its next start. It tells whether a member that is down was given back its tasks by that.
func keepDrained(ctx context.Context, e env, st store.Full, c cluster.Command, accepted bool) (back bool, err error) {
	d, ok := c.(cluster.DrainMember)
	if !ok || d.On && !accepted {
		return false, nil
	}
	was, err := node.KeepDrained(ctx, st, d.Member, d.On, asker(e))
	return was && !d.On, err
}

// tell journals who gave a command. It was done: a journal that does not take it is a word to the user and no more.
func tell(ctx context.Context, e env, st store.Full, c cluster.Command) {
	journaled(ctx, e, st, node.AskedRecord(c, asker(e)))
}

func journaled(ctx context.Context, e env, st store.Full, r journal.Record) {
	r.AtMS = time.Now().UnixMilli()
	if err := journal.NewDocs(st, r.Member, 0).Append(ctx, r); err != nil {
		e.say("it is done, and not in the journal: %v", err)
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
