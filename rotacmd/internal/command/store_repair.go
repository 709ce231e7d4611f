package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/command/storecopy"
	"github.com/rota-run/rota/rotacmd/internal/command/storerepair"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
)

const storeRepairHelp = `Take out of a log what ends every member that reads it: an entry that switches on a format which this Rota does not know, a snapshot that
cannot be read. Without --yes nothing is written: it says what is wrong, and what would be lost. With --yes it first keeps a backup file of the snapshot and
all entries. Stop all members first. Entries that no member can have written end nobody; they are listed, and need no repair.
Where a newer Rota has written to this place, upgrade instead.`

func newStoreRepair(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "repair STORE", Short: "take out of a log what ends every member", Long: storeRepairHelp,
		Example: "  rota store repair file:./rota-data\n  rota store repair file:./rota-data --yes",
	}
	yes := cmd.Flags().Bool("yes", false, "do it; else only say what would be done")
	backup := cmd.Flags().String("backup", "",
		"file that the backup is written to; default rota-repair-INDEX.json here")
	stopped := cmd.Flags().Bool("members-stopped", false, "all members are stopped, though heartbeats are left")
	asJSON := formatFlag(cmd.Flags())
	cmd.Args = exactArg("a store")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), copyWithin)
		defer cancel()
		r, err := repairStore(ctx, e, args[0], repairing{*yes, *stopped, *backup})
		if err != nil {
			return err
		}
		if *asJSON {
			return e.printJSON(r)
		}
		e.showRepair(storeurl.Hide(args[0]), r)
		return nil
	}
	return cmd
}

type repairing struct {
	yes, stopped bool
	backup       string
}

func repairStore(ctx context.Context, e env, text string, how repairing) (storerepair.Report, error) {
	a := look
	if how.yes {
		a = member
	}
	st, err := openStore(ctx, e, text, a)
	if err != nil {
		return storerepair.Report{}, err
	}
	defer st.Close()
	if err := plainEntries(ctx, st); err != nil {
		return storerepair.Report{}, fmt.Errorf("repair %s: %w", storeurl.Hide(text), err)
	}
	r, err := storerepair.Look(ctx, st)
	switch {
	case errors.Is(err, storerepair.ErrNoRepair):
		return r, failed("restore a backup of the whole store", "%s: %w", storeurl.Hide(text), err)
	case err != nil:
		return r, fmt.Errorf("repair %s: %w", storeurl.Hide(text), err)
	case !how.yes || !r.Needed():
		return r, nil
	}
	if err := nobodyRuns(ctx, st, how); err != nil {
		return r, err
	}
	if r.Backup, err = keepBackup(ctx, st, r, how.backup); err != nil {
		return r, err
	}
	if err := storerepair.Repair(ctx, st, r); err != nil {
		return r, failed("rota store repair "+storeWord(text)+", which can be done again", "repair %s: %w",
			storeurl.Hide(text), err)
	}
	r.Repaired = true
	return r, nil
}

// plainEntries refuses a place whose log has no entries: a repair would take all of it for garbage.
func plainEntries(ctx context.Context, st store.Docs) error {
	at, err := protocol.At(ctx, st)
	switch {
	case err != nil:
		return err
	case at.Protocol != "" && at.Protocol != "replica" && at.Protocol != "leader":
		return failed("a backup of the whole store",
			"its cluster uses the protocol %s, whose log a repair cannot read: only those of replica and leader",
			at.Protocol)
	}
	return nil
}

// nobodyRuns refuses a store with heartbeats.
func nobodyRuns(ctx context.Context, st store.Full, how repairing) error {
	docs, err := st.List(ctx, protocol.HeartbeatPrefix)
	if err != nil {
		return fmt.Errorf("list the heartbeats: %w", err)
	}
	if len(docs) == 0 || how.stopped {
		return nil
	}
	var names []string
	for _, d := range docs {
		id, _, _ := strings.Cut(strings.TrimPrefix(d.Key, protocol.HeartbeatPrefix), "/")
		names = append(names, strconv.Quote(id))
	}
	return failed("stop them, or --members-stopped if they are", "%w: %s; no member may run during a repair",
		storecopy.ErrMembers, strings.Join(names, ", "))
}

func keepBackup(ctx context.Context, l store.Log, r storerepair.Report, name string) (string, error) {
	if name == "" {
		name = fmt.Sprintf("rota-repair-%d.json", r.Index)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", failed("--backup FILE, a path where there is nothing yet", "keep a backup: %w", err)
	}
	err = storerepair.Backup(ctx, l, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("keep a backup in %s: %w", name, err)
	}
	return name, nil
}

func (e env) showRepair(name string, r storerepair.Report) {
	for _, x := range r.Refused {
		e.say("entry %s (%d bytes) does nothing: %s", x.Index, x.Bytes, x.Reason)
	}
	if r.Garbage > 0 {
		e.say("%s of the log are no entries and do nothing", many(r.Garbage, "record"))
	}
	if !r.Needed() {
		e.say("%s: nothing stops a member · %s, %s at index %d", name, many(r.Jobs, "job"), many(r.Partitions, "task"),
			r.Index)
		return
	}
	if r.Snapshot != "" {
		e.say("the snapshot cannot be read: %s", r.Snapshot)
	}
	for _, x := range r.Lost {
		e.say("lost: entry %s (%d bytes): %s", x.Index, x.Bytes, x.Reason)
	}
	if !r.Repaired {
		e.say("nothing was written; left would be: %s, %s at index %d", many(r.Jobs, "job"), many(r.Partitions, "task"),
			r.Index)
		e.say("stop all members, then: rota store repair %s --yes", name)
		return
	}
	e.say("repaired: %s, %s at index %d · the former log is in %s", many(r.Jobs, "job"), many(r.Partitions, "task"),
		r.Index, r.Backup)
}

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
		e.say("copied %s, %s and %s at index %d · digest %s in both", many(r.Jobs, "job"), many(r.Partitions, "task"),
			many(r.Documents, "document"), r.Index, r.Digest)
		e.say("start members there: rota run --store %s ./tasks", storeurl.Hide(args[1]))
		return nil
	}
	return cmd
}

func copyStore(ctx context.Context, e env, from, to string, live bool) (storecopy.Report, error) {
	if strings.HasPrefix(to, "memory:") {
		return storecopy.Report{}, misused("file:./copy", "store memory: ends with this process, and the copy with it")
	}
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
		return nil, misused("rota store copy "+storeurl.Hide(from)+" file:./copy", "store %s cannot be copied to",
			storeurl.Hide(to))
	}, live)
	if target != nil {
		defer target.Close()
	}
	var told *fault
	switch {
	case errors.As(err, &told):
		return r, err
	case errors.Is(err, storecopy.ErrMembers):
		return r, failed("stop them (SIGTERM), or rota store copy --live",
			"%s: %w; stop them first, so that nothing changes meanwhile", storeurl.Hide(from), err)
	case errors.Is(err, store.ErrConflict):
		return r, failed("a place that is empty, such as "+elsewhere(to), "%s is in use: %w", storeurl.Hide(to), err)
	case err != nil:
		return r, fmt.Errorf("copy %s to %s: %w", storeurl.Hide(from), storeurl.Hide(to), err)
	}
	return r, nil
}

// elsewhere is another place in the same store.
func elsewhere(text string) string { return strings.TrimRight(storeurl.Hide(text), "/") + "-2" }
