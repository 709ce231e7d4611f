package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/store"
)

func (c *LogCaller) checkLog(ctx context.Context, at cluster.Index) member.Event {
	has, err := chainAt(ctx, c.Log, at)
	return c.OrClosed(err, member.LogChecked{Now: c.Now(), Asked: at, Has: has, Err: Text(err)})
}

// chainAt hashes what the store has, from its snapshot up to an index.
func chainAt(ctx context.Context, l store.Log, at cluster.Index) (member.Point, error) {
	has, err := snapshotPoint(ctx, l)
	for err == nil && has.Index < at {
		var page store.Page
		page, err = l.Read(ctx, uint64(has.Index), readLimit)
		if errors.Is(err, store.ErrTruncated) {
			was := has.Index
			if has, err = snapshotPoint(ctx, l); err == nil && has.Index <= was {
				err = fmt.Errorf("entries behind %s are trimmed, and the snapshot is at %s", was, has.Index)
			}
			continue
		}
		for _, r := range page.Records {
			if cluster.Index(r.Index) > at {
				return has, nil
			}
			has = member.Point{Index: cluster.Index(r.Index), Chain: cluster.Chained(has.Chain, cluster.Index(r.Index), r.Data)}
		}
		if err == nil && len(page.Records) == 0 {
			return has, nil
		}
	}
	return has, err
}

// snapshotPoint is where the newest snapshot is; the beginning of the log where there is none.
func snapshotPoint(ctx context.Context, l store.Log) (member.Point, error) {
	rec, err := l.Snapshot(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return member.Point{}, nil
	case err != nil:
		return member.Point{}, err
	}
	index, chain, err := cluster.SnapshotHead(rec.Data)
	return member.Point{Index: index, Chain: chain}, err
}
