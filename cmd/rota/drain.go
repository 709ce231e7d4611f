package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/replica"
)

func newDrain(e env) *cobra.Command {
	return drainCommand(e, &cobra.Command{Use: "drain MEMBER", Short: "move a member's tasks away and give it no more"}, true)
}

func newUndrain(e env) *cobra.Command {
	return drainCommand(e, &cobra.Command{Use: "undrain MEMBER", Short: "give a drained member tasks again"}, false)
}

func drainCommand(e env, cmd *cobra.Command, on bool) *cobra.Command {
	cmd.Args = exactArg("the member")
	flags := cmd.Flags()
	flags.String("store", "", "where the members meet: file:DIR")
	flags.String("config", "", "file of settings; default rota.yaml where there is one")
	flags.Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := settleStore(e, cmd)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), answerWithin)
		defer cancel()
		asJSON, _ := cmd.Flags().GetBool("json")
		return drainMember(ctx, e, name, cluster.DrainMember{Member: cluster.MemberID(args[0]), On: on}, asJSON)
	}
	return cmd
}

func drainMember(ctx context.Context, e env, store string, c cluster.DrainMember, asJSON bool) error {
	st, err := openStore(ctx, store, change)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := cluster.CheckCommand(c); err != nil {
		return misused("rota members --store "+hideUser(store), "%w", err)
	}
	res, err := replica.NewClient(st).Propose(ctx, c)
	if err != nil {
		return fmt.Errorf("store %s: %w", hideUser(store), err)
	}
	if !res[0].Accepted {
		return failed("rota members --store "+hideUser(store), "member %q: %s", c.Member, res[0].Reason)
	}
	if asJSON {
		return e.printJSON(map[string]any{"member": c.Member, "draining": c.On})
	}
	if c.On {
		e.say("%s is draining: its tasks move away · watch it: rota members --store %s", c.Member, hideUser(store))
	} else {
		e.say("%s takes tasks again", c.Member)
	}
	return nil
}
