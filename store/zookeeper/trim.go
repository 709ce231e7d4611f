package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store/internal/driver"
)

// trimStep is how many records one request deletes.
const trimStep = 500

// Trim implements store.Log. First the header records the trimmed index, in one step; then the records are deleted, some hundreds with each request. The
// next call deletes what a crash leaves.
func (s *Store) Trim(ctx context.Context, index uint64) error {
	if err := driver.Because(ctx, s.trim(ctx, index)); err != nil {
		return fmt.Errorf("trim log to %d: %w", index, err)
	}
	return nil
}

func (s *Store) trim(ctx context.Context, index uint64) error {
	if err := s.enterWriting(ctx); err != nil {
		return err
	}
	p, err := s.freshPointer(ctx)
	if err != nil {
		return s.lost(err)
	}
	index = min(index, p.index)
	h, err := s.change(ctx, func(h header) header {
		h.trimmed = max(h.trimmed, index)
		return h
	})
	if err != nil || h.freed >= h.trimmed {
		return s.failed(err)
	}
	if err := s.free(ctx, h.freed+1, h.trimmed); err != nil {
		return s.failed(err)
	}
	_, err = s.change(ctx, func(now header) header {
		now.freed = max(now.freed, h.trimmed)
		return now
	})
	return s.failed(err)
}

// change changes the header by a function that does no more when it is done twice.
func (s *Store) change(ctx context.Context, fn func(header) header) (header, error) {
	var lost error
	for attempt := 0; ; attempt++ {
		var h headerAt
		err := s.fresh(ctx, func() error {
			var err error
			h, err = s.readHeader(ctx)
			return err
		})
		next := fn(h.header)
		if err == nil && next == h.header {
			return next, nil
		}
		if err == nil {
			_, err = do(ctx, s.link, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(s.at(logNode), next.encode(), h.version) })
		}
		var sent *sentError
		switch {
		case err == nil:
			return next, nil
		case errors.Is(err, zk.ErrBadVersion):
			if err := s.pause(ctx, attempt); err != nil {
				return header{}, err
			}
		case errors.As(err, &sent) && ctx.Err() == nil && !s.isClosed():
			lost = err
		case lost != nil:
			return header{}, lost
		default:
			return header{}, err
		}
	}
}

// free deletes records. It does not matter whether others delete them too, or whether an answer was lost.
func (s *Store) free(ctx context.Context, from, to uint64) error {
	for from <= to {
		last := min(to, from+trimStep-1)
		var ops []any
		for i := from; i <= last; i++ {
			ops = append(ops, &zk.DeleteRequest{Path: s.recordPath(i), Version: -1})
		}
		_, err := multi(ctx, s.link, ops...)
		var sent *sentError
		switch {
		case err == nil:
			from = last + 1
			continue
		case errors.As(err, &sent) && ctx.Err() == nil && !s.isClosed():
			continue
		case !errors.Is(err, zk.ErrNoNode):
			return err
		}
		if err := s.freeEach(ctx, from, last); err != nil {
			return err
		}
		from = last + 1
	}
	return nil
}

// freeEach deletes records of which some are gone already.
func (s *Store) freeEach(ctx context.Context, from, to uint64) error {
	return parallel(ctx, int(to-from)+1, func(ctx context.Context, i int) error { //nolint:gosec // at most trimStep
		_, err := do(ctx, s.link, func(c *zk.Conn) (struct{}, error) {
			return struct{}{}, c.Delete(s.recordPath(from+uint64(i)), -1) //nolint:gosec // i is not negative
		})
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
}
