package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
)

var _ Host = (*run)(nil)

// Emit implements Host.
func (r *run) Emit(samples ...publish.Sample) {
	if r.s.conf.Publisher == nil {
		r.s.unsent.Add(int64(len(samples)))
		return
	}
	r.s.conf.Publisher.Publish(samples...)
}

// Valid implements Host.
func (r *run) Valid(*Grant) bool { return r.valid() }

// valid goes by the clock at this instant, so that a process that was suspended knows before the supervisor has checked.
func (r *run) valid() bool {
	if r.stopped.Load() {
		return false
	}
	return r.keep || r.s.clock() < protocol.Instant(r.s.validUntil.Load())
}

// Split implements Host.
func (r *run) Split(ctx context.Context, g *Grant, children []cluster.Child) error {
	name := describe(g.Partition, g.Token)
	if r.s.conf.Propose == nil {
		return fmt.Errorf("split %s: this member has no way to propose", name)
	}
	results, err := r.s.conf.Propose(ctx, cluster.SplitPartition{Partition: g.Partition, Token: g.Token, Children: children})
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
