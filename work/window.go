package work

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Page is the result of one listing.
type Page struct {
	Items []cluster.Item // in processing order
	// Cursor is where the next listing begins; opaque, at most cluster.MaxCursor bytes. nil: the same place as this
	// one.
	Cursor []byte
	// End reports that these items are the last ones. Without it List is called again and again.
	End bool
}

// Partitioner is a Runner that lists inputs instead of working on them. For each input it makes a partition, an item,
// that contains the input, and the cluster grants the items to its members. At most Window of them are outstanding at a
// time, so the input may be far larger than what a cluster can hold. It is the run of an initial partition of a task of
// spread partitioned; the items are partitions of the same task, of the same type, and have [Grant.ListedBy] set.
//
// One step adds the items, removes the finished ones, and stores the cursor: after a crash or a move the next owner
// continues from there, so no input is skipped and no finished input is listed again. The partitioner ends when all
// listed items are done. A parked item stays in the window until it is unparked and done.
type Partitioner struct {
	// Window is how many items may be outstanding; default DefaultWindow, at most MaxWindow. A few times the number of
	// items that all members work on at once is enough.
	Window int
	// List returns at most limit inputs after the cursor, which is nil at first; fewer, or none, if there are not more
	// now. The result must depend on the cursor alone: after a crash List is called with the same cursor again. Keys of
	// items are unique within the task; an item that is already in the window is skipped.
	List func(ctx context.Context, g *Grant, cursor []byte, limit int) (Page, error)
	// Poll is the pause after an empty listing; default 1 s.
	Poll time.Duration
}

// The sizes of windows.
const (
	DefaultWindow = 64
	MaxWindow     = 10_000
)

// Window is the state of a partitioner's window.
type Window struct {
	// Mine is false while the partition is being moved here: its former owner still writes, or a newer one does.
	Mine        bool
	Step        int64
	Cursor      []byte
	Outstanding int                 // items that are waiting, running or parked
	Done        []cluster.Partition // items that are finished and not yet removed, sorted by ID

	value cluster.Value // where Has looks
	lists cluster.PartitionID
}

// WindowOf is the window of the partitioner that the grant is for, in a value of its cluster.
func WindowOf(v cluster.Value, g *Grant) Window {
	p, ok := v.Partition(g.Partition)
	if !ok || p.Token != g.Token {
		return Window{}
	}
	w := Window{Mine: true, Step: p.Step, Cursor: p.Cursor, value: v, lists: g.Partition}
	for it := range v.Window(g.Partition) {
		if it.State == cluster.PartitionFinished {
			w.Done = append(w.Done, it)
		} else {
			w.Outstanding++
		}
	}
	return w
}

// Has reports whether an item of this key is waiting, running or parked; listing it again would have no effect. A
// listing that repeats former inputs queries the source after it got the window, so that the source no longer shows
// what was finished by then.
func (w Window) Has(key string) bool {
	job, task, by := w.lists.Split()
	p, ok := w.value.Partition(cluster.NewPartitionID(job, task, key))
	return ok && p.ListedBy == by && !p.Dropped && p.State != cluster.PartitionFinished
}

// Windows is a Host that partitioners can run on. The supervisor's is one.
type Windows interface {
	Host
	// Window returns the window of partitioner g in the newest value here, and a channel that is closed when there is a
	// newer one.
	Window(g *Grant) (Window, <-chan struct{}, error)
	// Advance writes one step of g, based on w, and returns when it has been applied; refused is the reason if the
	// cluster did not accept it.
	Advance(ctx context.Context, g *Grant, w Window, c cluster.AdvanceWindow) (refused string, err error)
}

// Run implements Runner.
func (p Partitioner) Run(ctx context.Context, g *Grant) error {
	host, ok := g.Host.(Windows)
	if !ok {
		return fmt.Errorf("list %s (token %d): this host has no windows: %w", g.Partition, g.Token,
			errors.ErrUnsupported)
	}
	p.Window = min(cmp.Or(max(p.Window, 0), DefaultWindow), MaxWindow)
	p.Poll = cmp.Or(max(p.Poll, 0), time.Second)
	l := listing{Partitioner: p, host: host, grant: g}
	if err := l.run(ctx); err != nil {
		return fmt.Errorf("list %s (token %d): %w", g.Partition, g.Token, err)
	}
	return nil
}

// listing is one run of a partitioner.
type listing struct {
	Partitioner
	host  Windows
	grant *Grant
	plan  listingPlan
	// resting says that the source had nothing; poll ends that. What changes in the cluster meanwhile says nothing of
	// the source.
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
		Partition: l.grant.Partition, Token: l.grant.Token, Step: w.Step, Cursor: s.cursor, Done: s.done,
		Items: s.items,
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
