package command

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/safetext"
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
			return misused("rota events --since 2h --until 1h",
				"until is not between 0 and since, or there is follow too")
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
		if len(records) == 0 {
			of := ""
			if *task != "" {
				of = " of " + safetext.Word(*task)
			}
			o.say("no records%s since %s", of, clock(q.Since.UnixMilli(), o.now))
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
	if r.Storage != nil {
		o.printLines(r.Storage.Lines)
	}
}

// tailBack is how far back a look at the journal goes: a record may come late, and clocks of members differ.
const tailBack = 10 * time.Minute

// tail shows the records of a journal, each once, as they come.
type tail struct {
	o     *observer
	query journal.Query
	shown map[string]int64 // records as JSON, with their time in ms
}

// show prints the records that were not shown yet.
func (t *tail) show(records []journal.Record) error {
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, twice := t.shown[string(text)]; twice {
			continue
		}
		t.shown[string(text)] = r.AtMS
		if !t.o.json {
			t.o.printRecord(r)
		} else if err := t.o.printJSON(r); err != nil { // a line each
			return err
		}
	}
	return t.o.written()
}

// follow goes on until ctx ends. The journal is not in the log, so it looks once a second.
func (t *tail) follow(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil // interrupted
		case <-tick.C:
		}
		t.o.now = time.Now()
		since := t.o.now.Add(-tailBack)
		limited, cancel := context.WithTimeout(ctx, answerWithin)
		records, err := t.o.journal(limited, journal.Query{Partition: t.query.Partition, Kinds: t.query.Kinds,
			Since: since, Limit: 10_000})
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		t.o.heard(err)
		if err := t.show(records); err != nil {
			return err
		}
		maps.DeleteFunc(t.shown, func(_ string, at int64) bool { return at < since.Add(-tailBack).UnixMilli() })
	}
}
