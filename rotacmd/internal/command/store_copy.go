package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/rotacmd/internal/command/storecopy"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
)

const copyHelp = `Copy a cluster from one store to an empty place in another: jobs, tasks, owners, positions, the journal. Nothing is written to FROM.
Stop all members first, so that nothing changes meanwhile. With --live a running cluster is copied as it is at this moment; two clusters that
run from one copy give the same tokens, so stop the former before the other starts.`

// copyWithin bounds a copy.
const copyWithin = time.Hour

func newStoreCopy(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "copy FROM TO", Short: "copy a cluster to another store", Long: copyHelp,
		Args:    exactArgs(2, "stores: from where, and to where"),
		Example: "  rota store copy file:./rota-data etcd://127.0.0.1:2379/weather",
	}
	live := cmd.Flags().Bool("live", false, "copy also where there are members")
	asJSON := formatFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), copyWithin)
		defer cancel()
		r, err := copyStore(ctx, e, args[0], args[1], *live)
		if err != nil {
			return err
		}
		if *asJSON {
			return e.printJSON(r)
		}
		e.say("copied %s, %s and %s at index %d · digest %s in both", many(r.Jobs, "job"), many(r.Partitions, "task"), many(r.Documents, "document"), r.Index, r.Digest)
		e.say("start members there: rota run --store %s ./tasks", storeurl.Hide(args[1]))
		return nil
	}
	return cmd
}

func copyStore(ctx context.Context, e env, from, to string, live bool) (storecopy.Report, error) {
	source, err := openStore(ctx, e, from, look)
	if err != nil {
		return storecopy.Report{}, err
	}
	defer source.Close()
	p, err := protocolAt(ctx, source)
	if err != nil {
		return storecopy.Report{}, fmt.Errorf("store %s: %w", storeurl.Hide(from), err)
	}
	var target store.Full
	r, err := storecopy.Copy(ctx, p, source, func() (storecopy.Target, error) {
		var err error
		if target, err = openStore(ctx, e, to, member); err != nil {
			return nil, err
		}
		if t, ok := target.(storecopy.Target); ok {
			return t, nil
		}
		return nil, misused("rota store copy "+storeurl.Hide(from)+" file:./copy", "store %s cannot be copied to", storeurl.Hide(to))
	}, live)
	if target != nil {
		defer target.Close()
	}
	var told *fault
	switch {
	case errors.As(err, &told):
		return r, err
	case errors.Is(err, storecopy.ErrMembers):
		return r, failed("stop them (SIGTERM), or rota store copy --live", "%s: %w; stop them first, so that nothing changes meanwhile", storeurl.Hide(from), err)
	case errors.Is(err, store.ErrConflict):
		return r, failed("a place that is empty, such as "+elsewhere(to), "%s is in use: %w", storeurl.Hide(to), err)
	case err != nil:
		return r, fmt.Errorf("copy %s to %s: %w", storeurl.Hide(from), storeurl.Hide(to), err)
	}
	return r, nil
}

// elsewhere is another place in the same store.
func elsewhere(text string) string { return strings.TrimRight(storeurl.Hide(text), "/") + "-2" }
