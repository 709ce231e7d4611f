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

func newEvents(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "events", Short: "show what happened to tasks",
		Example: "  rota events --task weather --since 1h\n  rota events --kind moved,job-ended --follow",
	}
	task := cmd.Flags().String("task", "", "only this task")
	kinds := cmd.Flags().StringSlice("kind", nil, "only these kinds, such as moved,job-ended")
	within := cmd.Flags().Duration("since", 24*time.Hour, "how far back")
	until := cmd.Flags().Duration("until", 0, "only what is older than this")
	limit := cmd.Flags().Int("limit", rowsShown, "how many of the newest records")
	follow := cmd.Flags().Bool("follow", false, "go on with what happens from now on, until interrupted")
	asked(cmd.Flags(), "task", "kind", "since", "until", "follow")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if *limit < 1 || *within <= 0 {
			return misused("rota events --since 1h --limit 50", "since and limit are above zero")
		}
		if *until < 0 || *until >= *within || *until > 0 && *follow {
			return misused("rota events --since 2h --until 1h", "until is not between 0 and since, or there is follow too")
		}
		q := journal.Query{Partition: *task, Since: o.now.Add(-*within), Limit: *limit}
		if *until > 0 {
			q.Until = o.now.Add(-*until)
		}
		for _, k := range *kinds {
			if !slices.Contains(journal.Kinds(), journal.Kind(k)) {
				return misused("--kind "+nearestOr(k, kindNames(), kindNames()[0]),
					"kind %q: there is none; there are %s", k, strings.Join(kindNames(), ", "))
			}
			q.Kinds = append(q.Kinds, journal.Kind(k))
		}
		records, err := o.newest(ctx, q)
		if err != nil {
			return err
		}
		if o.json && !*follow {
			return o.printJSON(append([]journal.Record{}, records...)) // no null
		}
		t := tail{o: o, query: q, shown: make(map[string]int64)}
		if err := t.show(records); err != nil || !*follow {
			return err
		}
		return t.follow(cmd.Context())
	})
}

// newest reads the newest records, and says where there are older ones.
func (o *observer) newest(ctx context.Context, q journal.Query) ([]journal.Record, error) {
	q.Limit++
	records, err := o.journal(ctx, q)
	if left := len(records) - q.Limit + 1; left > 0 && err == nil {
		records = records[left:]
		o.say("there are older ones: %s", o.again(fmt.Sprintf("--limit %d", 10*len(records))))
	}
	return records, err
}

func kindNames() (names []string) {
	for _, k := range journal.Kinds() {
		names = append(names, string(k))
	}
	return names
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
