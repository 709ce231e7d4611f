package command

import (
	"context"
	"slices"
	"time"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// overview is what rota status shows to people: as the command itself has found it out, or a member on this machine.
type overview struct {
	Status    api.Status   `json:"status"`
	Unguarded []string     `json:"unguarded"` // members without a guardian that need one, sorted
	Undecided []string     `json:"undecided"` // members of whom another look may tell more, sorted
	Sinks     []memberSink `json:"sinks"`     // of all members
	Head      uint64       `json:"head"`      // the newest index of the log when a member was asked
}

// viewer makes overviews. Its methods may be called from any goroutine.
type viewer struct {
	docs     store.Docs
	journal  journal.Journal
	store    string // for people, without secrets
	protocol string
}

func (w viewer) overview(ctx context.Context, v cluster.Value, sight api.Sight) (overview, error) {
	s := api.StatusOf(v)
	sight.Status(v, &s)
	s.Store, s.Protocol = w.store, w.protocol
	records, err := w.journal.Read(ctx, journal.Query{Limit: 10_000})
	if err != nil {
		return overview{}, err
	}
	differ, err := sourceProblems(ctx, w.docs, v)
	if err != nil {
		return overview{}, err
	}
	sinks, err := sinksOf(ctx, w.docs, v)
	if err != nil {
		return overview{}, err
	}
	s.Problems = append(differ, s.Problems...)
	s.AddMalformed(v, records)
	if q, ok := w.docs.(store.Queue); ok {
		s.AddDeadLetters(ctx, q, v)
	}
	s.Moves = api.MovesOf(since(records, time.Now().Add(-time.Hour)))
	return overview{Status: s, Unguarded: unguardedIn(sight), Undecided: undecided(sight, false), Sinks: sinks}, nil
}

func since(records []journal.Record, t time.Time) []journal.Record {
	for i, r := range records {
		if r.AtMS >= t.UnixMilli() {
			return records[i:]
		}
	}
	return nil
}

// unguardedIn are the members without a guardian that need one, sorted.
func unguardedIn(s api.Sight) (out []string) {
	for m, h := range s.Heartbeats() {
		if h.Unguarded() {
			out = append(out, string(m))
		}
	}
	slices.Sort(out)
	return out
}
