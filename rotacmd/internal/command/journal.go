package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/journal"
)

func newJournal(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "journal", Short: "show what happened to tasks"}
	task := cmd.Flags().String("task", "", "only this task")
	kinds := cmd.Flags().StringSlice("kind", nil, "only these kinds, such as moved,job-ended")
	within := cmd.Flags().Duration("since", 24*time.Hour, "how far back")
	until := cmd.Flags().Duration("until", 0, "only what is older than this")
	limit := cmd.Flags().Int("limit", rowsShown, "the newest so many")
	follow := cmd.Flags().Bool("follow", false, "go on with what happens from now on, until interrupted")
	asked(cmd.Flags(), "task", "kind", "since", "until", "follow")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if *limit < 1 || *within <= 0 {
			return misused("rota journal --since 1h --limit 50", "since and limit are above zero")
		}
		if *until < 0 || *until >= *within || *until > 0 && *follow {
			return misused("rota journal --since 2h --until 1h", "until is not between 0 and since, or there is follow too")
		}
		q := journal.Query{Partition: *task, Since: o.now.Add(-*within), Limit: *limit}
		if *until > 0 {
			q.Until = o.now.Add(-*until)
		}
		for _, k := range *kinds {
			if !slices.Contains(journal.Kinds(), journal.Kind(k)) {
				return misused("--kind "+nearestOr(k, kindNames(), kindNames()[0]), "kind %q: there is none; there are %s", k, strings.Join(kindNames(), ", "))
			}
			q.Kinds = append(q.Kinds, journal.Kind(k))
		}
		records, err := o.journal(ctx, q)
		if err != nil {
			return err
		}
		if o.json && !*follow {
			return o.printRecords(records)
		}
		t := tail{o: o, query: q, shown: make(map[string]int64)}
		if err := t.show(records); err != nil || !*follow {
			return err
		}
		return t.follow(cmd.Context())
	})
}

func kindNames() (names []string) {
	for _, k := range journal.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func (o *observer) printRecords(records []journal.Record) error {
	if records == nil {
		records = []journal.Record{}
	}
	return o.printJSON(records)
}

func (o *observer) printRecord(r journal.Record) {
	fmt.Fprintf(o.stdout, "%s  %-13s  %s\n", clock(r.AtMS, o.now), r.Kind, printable(r.Line()))
	if r.Storage == nil {
		return
	}
	for _, l := range r.Storage.Lines {
		fmt.Fprintf(o.stdout, "      %s\n", printable(l))
	}
}
