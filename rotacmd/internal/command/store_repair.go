package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

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
	backup := cmd.Flags().String("backup", "", "file that the backup is written to; default rota-repair-INDEX.json here")
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
		return r, failed("rota store repair "+storeurl.Hide(text)+", which can be done again", "repair %s: %w", storeurl.Hide(text), err)
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
		return failed("a backup of the whole store", "its cluster uses the protocol %s, whose log a repair cannot read: only those of replica and leader", at.Protocol)
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
	return failed("stop them, or --members-stopped if they are", "%w: %s; no member may run during a repair", storecopy.ErrMembers, strings.Join(names, ", "))
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
		e.say("%s: nothing stops a member · %s, %s at index %d", name, many(r.Jobs, "job"), many(r.Partitions, "task"), r.Index)
		return
	}
	if r.Snapshot != "" {
		e.say("the snapshot cannot be read: %s", r.Snapshot)
	}
	for _, x := range r.Lost {
		e.say("lost: entry %s (%d bytes): %s", x.Index, x.Bytes, x.Reason)
	}
	if !r.Repaired {
		e.say("nothing was written; left would be: %s, %s at index %d", many(r.Jobs, "job"), many(r.Partitions, "task"), r.Index)
		e.say("stop all members, then: rota store repair %s --yes", name)
		return
	}
	e.say("repaired: %s, %s at index %d · the former log is in %s", many(r.Jobs, "job"), many(r.Partitions, "task"), r.Index, r.Backup)
}
