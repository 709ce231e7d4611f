package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

var _ work.Host = (*run)(nil)

// Emit implements Host.
func (r *run) Emit(samples ...publish.Sample) {
	if r.s.conf.Publisher == nil {
		r.s.unsent.Add(int64(len(samples)))
		return
	}
	r.s.conf.Publisher.Publish(samples...)
}

// Valid implements Host.
func (r *run) Valid(*work.Grant) bool { return r.valid() }

// valid goes by the clock at this instant, so that a process that was suspended knows before the supervisor has checked.
func (r *run) valid() bool {
	if r.stopped.Load() {
		return false
	}
	return r.keep || r.s.clock() < protocol.Instant(r.s.validUntil.Load())
}

// keepFinished is how many finished partitions with children a task keeps; ten times as many without.
const keepFinished = 1000

// Split implements Host. It also removes what is spent, a little more of it than it adds.
func (r *run) Split(ctx context.Context, g *work.Grant, children []cluster.Child) error {
	name := describe(g.Partition, g.Token)
	if r.s.conf.Propose == nil {
		return fmt.Errorf("split %s: this member has no way to propose", name)
	}
	results, err := r.s.conf.Propose(ctx, cluster.SplitPartition{Partition: g.Partition, Token: g.Token, Children: children,
		Done: r.forgetSpent(ctx, g.Partition, len(children)+1)})
	switch {
	case err != nil:
		return fmt.Errorf("split %s: %w", name, err)
	case len(results) != 1:
		return fmt.Errorf("split %s: %w", name, errors.New("the protocol gave no result"))
	case !results[0].Accepted:
		return fmt.Errorf("split %s: refused: %s", name, results[0].Reason)
	}
	return nil
}

// mostSpent is among how many spent partitions a split chooses.
const mostSpent = 4096

// forgetSpent deletes the positions of at most n spent partitions, and returns the keys of these. They are neighbours
// anywhere among the spent: partitions that split at the same time would all take the oldest, and remove too few. A
// position that cannot be deleted stays, and so does its partition: a later split comes back to it.
func (r *run) forgetSpent(ctx context.Context, task cluster.PartitionID, n int) (keys []string) {
	if r.s.conf.Value == nil {
		return nil
	}
	n = min(n, cluster.MaxChildren)
	spent, all := r.s.conf.Value().Spent(task, keepFinished), 0
	for range spent {
		if all++; all == mostSpent {
			break
		}
	}
	skip := rand.IntN(max(all-n, 0) + 1) //nolint:gosec // it only spreads
	for p := range spent {
		if skip--; skip >= 0 {
			continue
		}
		if len(keys) == n || r.forgetPosition(ctx, p) != nil {
			break
		}
		_, _, key := p.ID.Split()
		keys = append(keys, key)
	}
	return keys
}

var _ work.Windows = (*run)(nil)

// Window implements Windows.
func (r *run) Window(g *work.Grant) (work.Window, <-chan struct{}, error) {
	if r.s.conf.Value == nil || r.s.conf.Changed == nil {
		return work.Window{}, nil, errors.New("this member does not show the value")
	}
	changed := r.s.conf.Changed()
	return work.WindowOf(r.s.conf.Value(), g), changed, nil
}

// Advance implements Windows. Positions of finished items are deleted before the items: the other way round, a crash would leave them.
func (r *run) Advance(ctx context.Context, g *work.Grant, w work.Window, c cluster.AdvanceWindow) (refused string, err error) {
	name := describe(g.Partition, g.Token)
	if r.s.conf.Propose == nil {
		return "", fmt.Errorf("advance %s: this member has no way to propose", name)
	}
	for _, p := range w.Done[:len(c.Done)] {
		if err := r.forgetPosition(ctx, p); err != nil {
			return "", fmt.Errorf("forget the position of %s: %w", p.ID, err)
		}
	}
	results, err := r.s.conf.Propose(ctx, c)
	switch {
	case err != nil:
		return "", fmt.Errorf("advance %s: %w", name, err)
	case len(results) != 1:
		return "", fmt.Errorf("advance %s: the protocol gave no result", name)
	}
	return results[0].Reason, nil
}

// forgetPosition deletes what an item has saved, unless another owner has saved since: a key may be listed again.
func (r *run) forgetPosition(ctx context.Context, p cluster.Partition) error {
	if r.s.conf.Positions == nil {
		return nil
	}
	doc, saved, err := r.storedPosition(ctx, p.ID)
	if err != nil || doc.Version == "" || saved.Token > p.Token {
		return err
	}
	err = r.s.conf.Positions.Delete(ctx, doc.Key, doc.Version)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
