package command

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/rota-run/rota/journal"
)

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
	return nil
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
		records, err := t.o.journal(limited, journal.Query{Partition: t.query.Partition, Kinds: t.query.Kinds, Since: since, Limit: 10_000})
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !t.o.away:
			t.o.away = true
			t.o.say("the store does not answer, still waiting: %v", err)
		case err == nil && t.o.away:
			t.o.away = false
			t.o.say("the store answers again")
		}
		if err := t.show(records); err != nil {
			return err
		}
		maps.DeleteFunc(t.shown, func(_ string, at int64) bool { return at < since.Add(-tailBack).UnixMilli() })
	}
}
