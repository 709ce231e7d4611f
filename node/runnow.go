package node

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// NoRoundError says why a task has no round that can be asked for.
type NoRoundError struct{ Err error }

// Error is the reason.
func (e *NoRoundError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *NoRoundError) Unwrap() error { return e.Err }

// RunNow requests a round at once from the owners of a task, or of all partitions of a job, and journals the request. It returns one Ask for each
// partition.
func (n *Node) RunNow(ctx context.Context, name, by string) ([]work.Ask, error) {
	asks, err := RunNow(ctx, n.c.Store, n.Whole(), n.c.Types, name, by)
	if len(asks) > 0 {
		n.record(RunNowRecord(name, by))
	}
	return asks, err
}

// RunNow requests a round from a process that is not a member. v is the value that it has read, types are the types that it knows. The error is a
// *NoRoundError if no round can be requested.
func RunNow(ctx context.Context, docs store.Docs, v cluster.Value, types work.Types, name, by string) ([]work.Ask, error) {
	partitions, err := work.Rounds(v, name, types)
	if err != nil {
		return nil, &NoRoundError{err}
	}
	asks := make([]work.Ask, 0, len(partitions))
	for _, p := range partitions {
		ask, err := work.AskRound(ctx, docs, p, by)
		if err != nil {
			return asks, fmt.Errorf("%d of %d were asked: %w", len(asks), len(partitions), err)
		}
		asks = append(asks, ask)
	}
	return asks, nil
}

// RunNowRecord is the record of it.
func RunNowRecord(name, by string) journal.Record {
	return journal.Record{Kind: journal.Asked, Partition: name, Message: "run-now " + name, Member: by}
}
