package work

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
)

// listing is one run of a partitioner.
type listing struct {
	Partitioner
	host  Windows
	grant *Grant
	plan  listingPlan
	// resting says that the source had nothing; poll ends that. What changes in the cluster meanwhile says nothing of the source.
	resting bool
	poll    *time.Timer
}

func (l *listing) run(ctx context.Context) error {
	l.plan.window = l.Window
	l.poll = time.NewTimer(l.Poll)
	defer l.poll.Stop()
	for {
		w, changed, err := l.host.Window(l.grant)
		if err != nil {
			return err
		}
		if err := l.list(ctx, w); err != nil {
			return err
		}
		s, ended := l.plan.next(w)
		if ended {
			return nil
		}
		if s.due {
			if err := l.advance(ctx, w, s); err != nil {
				return err
			}
			continue
		}
		if err := l.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// list fetches a page where there is room for one.
func (l *listing) list(ctx context.Context, w Window) error {
	room := l.plan.room(w)
	if room == 0 || l.resting {
		return nil
	}
	page, err := l.List(ctx, l.grant, w.Cursor, room)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case len(page.Items) > room:
		return fmt.Errorf("the listing gave %d items, at most %d were asked for", len(page.Items), room)
	}
	if page.Cursor == nil {
		page.Cursor = w.Cursor
	}
	l.plan.listed(w, page)
	if !page.End && len(page.Items) == 0 && bytes.Equal(page.Cursor, w.Cursor) {
		l.resting = true
		l.poll.Reset(l.Poll)
	}
	return nil
}

func (l *listing) advance(ctx context.Context, w Window, s step) error {
	refused, err := l.host.Advance(ctx, l.grant, w, cluster.AdvanceWindow{
		Partition: l.grant.Partition, Token: l.grant.Token, Step: w.Step, Cursor: s.cursor, Done: s.done, Items: s.items,
	})
	if err != nil || refused == "" {
		return err
	}
	now, _, err := l.host.Window(l.grant)
	if err == nil && now.Mine && now.Step == w.Step { // not because others were faster
		return fmt.Errorf("step %d was refused: %s", w.Step, refused)
	}
	return err
}

// wait returns at the next change, and when it is time to list again.
func (l *listing) wait(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
	case <-l.poll.C:
		l.resting = false
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
