package operate

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
)

// Unpark gives a task that failed too often another row of attempts.
func (o *Operator) Unpark(ctx context.Context, id cluster.PartitionID) (Answer, error) {
	return o.ask(ctx, cluster.UnparkPartition{Partition: id})
}

// RunNow asks the owners of a task, or of all partitions of a job, for a round at once. It returns one Ask for each of them.
func (o *Operator) RunNow(ctx context.Context, name string) ([]supervisor.Ask, Answer, error) {
	a := Answer{Said: "run-now " + name, Changed: true}
	v, err := o.at.Value(ctx)
	if err != nil {
		return nil, Answer{}, err
	}
	partitions, err := supervisor.Rounds(v, name, o.types)
	if err != nil {
		return nil, Answer{}, &RefusedError{Said: a.Said, Reason: err.Error(), Kind: ErrRefused}
	}
	asks := make([]supervisor.Ask, 0, len(partitions))
	for _, p := range partitions {
		ask, askErr := supervisor.AskRound(ctx, o.docs, p, o.by)
		if askErr != nil {
			err = fmt.Errorf("%d of %d were asked: %w", len(asks), len(partitions), askErr)
			break
		}
		asks = append(asks, ask)
	}
	if len(asks) > 0 {
		a.Unjournaled = o.at.Record(ctx, journal.Record{Kind: journal.Asked, Partition: name, Message: a.Said, By: o.by})
	}
	return asks, a, err
}
