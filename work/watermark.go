package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// Watermark is the low watermark of a partitioned task: the least position of what is not finished. What lies before it
// is done, whoever did it. It never goes back, if each partition that a split adds begins at or behind the position of
// one of its parents: so all partitions to come are behind those that are there.
//
// A partition without a position counts with those of its parents, also while it waits for them. One that has no
// parents either leaves the watermark where it is: a run saves where it begins, before it reads.
type Watermark struct {
	// Compare is less than 0 where a is before b, 0 where they are equal: what is in a position only the task knows.
	Compare func(a, b []byte) int
	// Low is the watermark as it was seen last; nil while nothing is known. To go on from one that was kept, set it.
	Low []byte
}

// Positions is a Host that also knows the positions of other partitions. The supervisor's is one.
type Positions interface {
	Host
	// LoadPositions returns the stored position of each partition, nil for those that have none.
	LoadPositions(ctx context.Context, of []cluster.PartitionID) ([][]byte, error)
}

// Advance looks where the task of the grant stands. The value is that of the whole cluster, such as
// rota.MemberFrom(ctx).Value(); one that is old does no harm. It reads one position for each partition that is not
// finished.
func (w *Watermark) Advance(ctx context.Context, g *Grant, v cluster.Value) error {
	low, err := w.least(ctx, g, v)
	if err != nil {
		return fmt.Errorf("low watermark of %s: %w", cluster.NewPartitionID(g.Job, g.Task, ""), err)
	}
	if low != nil && (w.Low == nil || w.Compare(low, w.Low) > 0) {
		w.Low = low
	}
	return nil
}

// least is the least position; nil where it is not known, or nothing is unfinished.
func (w *Watermark) least(ctx context.Context, g *Grant, v cluster.Value) (low []byte, err error) {
	host, ok := g.Host.(Positions)
	if !ok {
		return nil, fmt.Errorf("this host knows no other positions: %w", errors.ErrUnsupported)
	}
	asked := map[cluster.PartitionID]bool{}
	var ids []cluster.PartitionID
	for p := range v.PartitionsOf(g.Job) {
		if _, task, _ := p.ID.Split(); task == g.Task && !p.Dropped && p.State != cluster.PartitionFinished {
			ids, asked[p.ID] = append(ids, p.ID), true
		}
	}
	for len(ids) > 0 {
		found, err := host.LoadPositions(ctx, ids)
		if err != nil {
			return nil, err
		}
		var parents []cluster.PartitionID
		for i, id := range ids {
			if at := found[i]; at != nil {
				if low == nil || w.Compare(at, low) < 0 {
					low = at
				}
				continue
			}
			p, _ := v.Partition(id)
			if len(p.Parents) == 0 {
				return nil, nil
			}
			for _, key := range p.Parents {
				if parent := cluster.NewPartitionID(g.Job, g.Task, key); !asked[parent] {
					parents, asked[parent] = append(parents, parent), true
				}
			}
		}
		ids = parents
	}
	return low, nil
}
