package node

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
)

// sweepPause is between two looks for flows whose jobs are gone.
const sweepPause = time.Minute

// sweepFlows drops the flows of jobs that the cluster has forgotten, on the first of the joined members.
func (n *Node) sweepFlows(ctx context.Context) {
	queue := n.c.Broker.Queue
	if queue == nil {
		return
	}
	ticker := time.NewTicker(sweepPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		v := n.member.Value()
		if first, ok := v.FirstJoined(); !ok || first != n.c.Member {
			continue
		}
		if err := dropFlows(ctx, v, n.c.Store, queue); err != nil && ctx.Err() == nil {
			n.c.Logger.Warn("drop the flows of former jobs", "err", err)
		}
	}
}

func dropFlows(ctx context.Context, v cluster.Value, docs store.Docs, queue store.Queue) error {
	noted, err := docs.List(ctx, supervisor.FlowPrefix)
	if err != nil {
		return fmt.Errorf("list flows: %w", err)
	}
	for _, d := range noted {
		name := strings.TrimPrefix(d.Key, supervisor.FlowPrefix)
		if !forgotten(v, name) {
			continue
		}
		if err := queue.DropFlow(ctx, name); err != nil {
			return err
		}
		err := docs.Delete(ctx, d.Key, d.Version)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// forgotten tells whether a flow is of a job that is gone, or was submitted again since. A value that is older than the
// flow cannot tell.
func forgotten(v cluster.Value, name string) bool {
	job, at, ok := strings.Cut(name, "@")
	index, err := strconv.ParseUint(at, 10, 64)
	if !ok || err != nil || uint64(v.Index()) < index {
		return false
	}
	j, ok := v.Job(cluster.JobID(job))
	return !ok || uint64(j.Turn.Submitted) != index
}
