package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
)

// batch is how many changes are written before the position is saved.
const batch = 8

// reader reads partitions of a stream, as its member is told to.
type reader struct {
	out    *sink
	pause  time.Duration     // after each batch
	joined <-chan struct{}   // closed when value can be asked
	value  func() rota.Value // the cluster as the member sees it

	mu    sync.Mutex
	of    config
	made  *stream
	wrote map[cluster.PartitionID]place
}

// place is how far this process has written a partition under a token.
type place struct {
	token cluster.Token
	at    int
}

// taskType is the task type of the reader; one process runs so many partitions at once.
func (r *reader) taskType(tasks int) rota.Type {
	t := rota.NewType("changestream", r.run)
	t.MaxConcurrent = tasks
	return t
}

func (r *reader) stream(c config) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made == nil || r.of != c {
		r.of, r.made = c, newStream(c)
	}
	return r.made
}

// run reads one partition from the saved position to its end, and reports which ones go on.
func (r *reader) run(ctx context.Context, g *rota.Grant, c config) error {
	p := r.stream(c).named[g.Key]
	if p == nil {
		return fmt.Errorf("the stream has no partition %s", g.Key)
	}
	select {
	case <-r.joined:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	saved, err := g.LoadPosition(ctx)
	if err != nil {
		return err
	}
	after, _ := strconv.Atoi(string(saved)) // 0 where none was saved
	after = max(after, r.written(g))
	for more := true; more; {
		var some []change
		if some, more = p.read(after, batch); len(some) == 0 {
			break
		}
		if err := r.out.write(g, some); err != nil {
			return err
		}
		after = some[len(some)-1].at
		r.note(g, after)
		if err := g.SavePosition(ctx, []byte(strconv.Itoa(after))); err != nil {
			return err
		}
		if err := sleep(ctx, r.pause); err != nil {
			return err
		}
	}
	return r.report(ctx, g, p)
}

// written is how far an earlier run under the same token has written. A run that could not save its position, or whose
// lease ended first, starts again in this process, and only this process knows what it has written.
func (r *reader) written(g *rota.Grant) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.wrote[g.Partition]; p.token == g.Token {
		return p.at
	}
	return 0
}

// note keeps that for the next run.
func (r *reader) note(g *rota.Grant, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrote == nil {
		r.wrote = make(map[cluster.PartitionID]place)
	}
	r.wrote[g.Partition] = place{g.Token, at}
}

// report adds the partitions that go on behind the end of p. Those of a split are unknown to all but p. One of a merge
// is reported by each parent that knows the others: the one that appeared last always does.
func (r *reader) report(ctx context.Context, g *rota.Grant, p *partition) error {
	var children []rota.Child
	for _, child := range p.children {
		if r.known(g, child.parents) {
			children = append(children, rota.Child{Key: child.name, Parents: child.parents})
		}
	}
	if len(children) == 0 {
		return nil
	}
	return g.Split(ctx, children)
}

// known tells whether the cluster has these partitions of the task.
func (r *reader) known(g *rota.Grant, names []string) bool {
	v := r.value()
	job, task, _ := g.Partition.Split()
	for _, name := range names {
		if _, ok := v.Partition(cluster.NewPartitionID(job, task, name)); !ok {
			return false
		}
	}
	return true
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
