package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/journal"
)

func newJournal(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "journal", Short: "show what happened to tasks"}
	task := cmd.Flags().String("task", "", "only this task")
	within := cmd.Flags().Duration("since", 24*time.Hour, "how far back")
	limit := cmd.Flags().Int("limit", rowsShown, "the newest so many")
	follow := cmd.Flags().Bool("follow", false, "go on with what happens from now on, until interrupted")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if *limit < 1 || *within <= 0 {
			return misused("rota journal --since 1h --limit 50", "since and limit are above zero")
		}
		records, err := o.journal(ctx, journal.Query{Partition: *task, Since: o.now.Add(-*within), Limit: *limit})
		if err != nil {
			return err
		}
		if o.json && !*follow {
			return o.printRecords(records)
		}
		t := tail{o: o, task: *task, shown: make(map[string]int64)}
		if err := t.show(records); err != nil || !*follow {
			return err
		}
		return t.follow(cmd.Context())
	})
}

func (o *observer) printRecords(records []journal.Record) error {
	if records == nil {
		records = []journal.Record{}
	}
	return o.printJSON(records)
}

func (o *observer) printRecord(r journal.Record) {
	kind := string(r.Kind)
	if r.Kind == journal.Malformed {
		kind = "malformed"
	}
	fmt.Fprintf(o.stdout, "%s  %-13s  %s\n", clock(r.AtMS, o.now), kind, printable(r.Line()))
	if r.Storage == nil {
		return
	}
	for _, l := range r.Storage.Lines {
		fmt.Fprintf(o.stdout, "      %s\n", printable(l))
	}
}
