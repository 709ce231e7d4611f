package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Page is what one listing gave.
type Page struct {
	Items []cluster.Item // in the order in which they are to be worked on
	// Cursor is where the next listing begins; opaque, at most cluster.MaxCursor bytes. nil: where this one began.
	Cursor []byte
	// End says that nothing comes behind these items. Without it List is called again, for ever.
	End bool
}

// Partitioner is a Runner that lists inputs instead of working on them: for each it makes a partition, an item, with the input in it, and
// the cluster gives the items to its members. At most Window of them are outstanding at a time, so that what it lists may be far larger than
// what a cluster can hold. It is the run of an initial partition of a task of spread partitioned; the items are partitions of the same task, of
// the same type, and [Grant.ListedBy] tells them from it.
//
// The cursor is stored in the same step that adds the items and takes out those that are done: a successor, after a crash or a move, goes on
// from there, so that no input is left out and none that is done is listed again. It ends when all that it has listed is done. An item that is
// parked stays in the window until it is unparked and done.
type Partitioner struct {
	// Window is how many items may be outstanding; default DefaultWindow, at most MaxWindow. A few times what all members work on at once
	// is enough.
	Window int
	// List returns at most limit inputs behind the cursor, nil at first; fewer, also none, where there are not more now. What it returns
	// must follow from the cursor alone: after a crash the same cursor is asked for again. Keys of items are distinct within the task; one
	// that is in the window already is passed over.
	List func(ctx context.Context, g *Grant, cursor []byte, limit int) (Page, error)
	// Poll is how long nothing is listed after a listing that gave nothing; default 1 s.
	Poll time.Duration
}

// The sizes of windows.
const (
	DefaultWindow = 64
	MaxWindow     = 10_000
)

// Window is how a partitioner stands.
type Window struct {
	// Mine is false while the partition is on its way here: its former owner still writes, or a newer one does.
	Mine        bool
	Step        int64
	Cursor      []byte
	Outstanding int                 // items that wait, run or are parked
	Done        []cluster.Partition // items that are finished and have not been taken out, sorted by ID

	value cluster.Value // where Has looks
	lists cluster.PartitionID
}

// Has tells whether an item of this key waits, runs or is parked: to list it again would say nothing. A listing that comes back to what it has listed
// before asks the source after it asked for the window: what was finished by then is not what the source shows now.
func (w Window) Has(key string) bool {
	job, task, by := w.lists.Split()
	p, ok := w.value.Partition(cluster.NewPartitionID(job, task, key))
	return ok && p.ListedBy == by && !p.Dropped && p.State != cluster.PartitionFinished
}

// Windows is a Host that partitioners can run on. The supervisor's is one.
type Windows interface {
	Host
	// Window returns how the partitioner g stands by the newest value here, and a channel that is closed when there is a newer one.
	Window(g *Grant) (Window, <-chan struct{}, error)
	// Advance writes one step of g, which stood at w, and returns when it was applied; refused says why the cluster did not take it.
	Advance(ctx context.Context, g *Grant, w Window, c cluster.AdvanceWindow) (refused string, err error)
}

// Run implements Runner.
func (p Partitioner) Run(ctx context.Context, g *Grant) error {
	host, ok := g.Host.(Windows)
	if !ok {
		return fmt.Errorf("list %s: this host has no windows: %w", describe(g.Partition, g.Token), errors.ErrUnsupported)
	}
	p.Window = min(cmp.Or(max(p.Window, 0), DefaultWindow), MaxWindow)
	p.Poll = cmp.Or(max(p.Poll, 0), time.Second)
	l := listing{Partitioner: p, host: host, grant: g}
	if err := l.run(ctx); err != nil {
		return fmt.Errorf("list %s: %w", describe(g.Partition, g.Token), err)
	}
	return nil
}
