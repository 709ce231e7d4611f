package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// Viewer looks at a cluster: at a value, and at what stands in the store beside it. Its methods may be called from any goroutine.
type Viewer struct {
	Lookout  *Lookout        // nil: the value alone is shown
	Journal  journal.Journal // nil: neither moves nor malformed definitions are known
	Queue    store.Queue     // nil: there are no flows
	Store    string          // for people, without secrets
	Protocol string          // its name, for people
}

// Look looks once at what is beside a value.
func (w Viewer) Look(ctx context.Context, v cluster.Value) (Sight, error) {
	if w.Lookout == nil {
		return Of(v), nil
	}
	return w.Lookout.Look(ctx, v)
}

// mostRead is how many records of the journal are read for a status.
const mostRead = 10_000

// Status sums up what was seen, with what the journal and the sources say of it.
func (w Viewer) Status(ctx context.Context, s Sight) (Status, error) {
	st := s.Status()
	st.Store, st.Protocol = w.Store, w.Protocol
	if w.Lookout != nil {
		differ, err := sourcesThatDiffer(ctx, w.Lookout.docs, s.v)
		if err != nil {
			return Status{}, err
		}
		st.Differing = len(differ)
		st.Problems = slices.Insert(st.Problems, 0, differ...)
	}
	if w.Journal != nil {
		records, err := w.Journal.Read(ctx, journal.Query{Limit: mostRead})
		if err != nil {
			return Status{}, fmt.Errorf("read the journal: %w", err)
		}
		st.addMalformed(s.v, records)
		st.Moves = movesOf(since(records, time.Now().Add(-time.Hour)))
	}
	if w.Queue != nil {
		st.addDeadLetters(ctx, w.Queue, s.v)
	}
	return st, nil
}

func since(records []journal.Record, t time.Time) []journal.Record {
	for i, r := range records {
		if r.AtMS >= t.UnixMilli() {
			return records[i:]
		}
	}
	return nil
}

// SourcesDiffer is the state of a problem: the copies of a source are not alike.
const SourcesDiffer = "sources differ"

func sourcesThatDiffer(ctx context.Context, docs store.Docs, v cluster.Value) ([]Problem, error) {
	var out []Problem
	for _, name := range directory.Sources(v) {
		inventories, err := directory.Inventories(ctx, docs, name)
		if err != nil {
			return nil, err
		}
		differ := directory.CopiesOf(v, name, inventories).Differ()
		if differ == "" {
			continue
		}
		job := directory.Job(name).Job
		if p, ok := v.Partition(cluster.PartitionID(job)); ok && p.Owner != "" {
			differ += fmt.Sprintf(" (the files of %s count)", p.Owner)
		}
		out = append(out, Problem{
			State: SourcesDiffer, Task: string(job), Text: differ,
			Try: "make the directories alike, or end what no directory has: rota source prune " + name,
		})
	}
	return out, nil
}
