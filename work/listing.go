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
}

func (l *listing) run(ctx context.Context) error {
	l.plan.window = l.Window
	for {
		w, changed, err := l.host.Window(l.grant)
		if err != nil {
			return err
		}
		idle, err := l.list(ctx, w)
		if err != nil {
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
		if err := l.wait(ctx, changed, idle); err != nil {
			return err
		}
	}
}

// list fetches a page where there is room for one. It tells whether there was nothing to fetch.
func (l *listing) list(ctx context.Context, w Window) (idle bool, err error) {
	room := l.plan.room(w)
	if room == 0 {
		return false, nil
	}
	page, err := l.List(ctx, l.grant, w.Cursor, room)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return false, err
	case len(page.Items) > room:
		return false, fmt.Errorf("the listing gave %d items, at most %d were asked for", len(page.Items), room)
	}
	if page.Cursor == nil {
		page.Cursor = w.Cursor
	}
	l.plan.listed(w, page)
	return !page.End && len(page.Items) == 0 && bytes.Equal(page.Cursor, w.Cursor), nil
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

// wait returns at the next change, and where nothing was listed after a while.
func (l *listing) wait(ctx context.Context, changed <-chan struct{}, idle bool) error {
	var again <-chan time.Time
	if idle {
		timer := time.NewTimer(l.Poll)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-changed:
	case <-again:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
