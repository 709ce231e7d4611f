package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
)

// config says which stream it is. All processes are told through the job.
type config struct {
	Partitions int // at the beginning; they share the keys evenly
	Times      int // how often partitions split or merge, in turn
	Each       int // changes from one time to the next
}

// keys is how many keys have changes.
const keys = 1 << 16

// change is one change of a key. Positions are those of the whole stream, and each is that of one change.
type change struct{ at, key int }

// partition is a range of keys from its beginning to its end.
type partition struct {
	name      string
	low, high int // keys from low to below high
	parents   []string
	children  []*partition // that go on behind its end; two after a split, one after a merge, none at the end of the stream
	changes   []change
}

// stream is all that ever happens. It follows from its config.
type stream struct {
	all   []*partition
	named map[string]*partition
}

// newStream makes the stream of a config.
func newStream(c config) *stream {
	s := &stream{named: make(map[string]*partition)}
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // always the same stream
	var live []*partition                 // sorted by their keys
	for i := range c.Partitions {
		live = append(live, s.begin(i*keys/c.Partitions, (i+1)*keys/c.Partitions))
	}
	for i := range c.Times * c.Each {
		if time := i / c.Each; i%c.Each == 0 && i > 0 {
			live = s.turn(live, time%2 == 1, chance)
		}
		at := change{at: i + 1, key: chance.IntN(keys)}
		p := live[slices.IndexFunc(live, func(p *partition) bool { return at.key < p.high })]
		p.changes = append(p.changes, at)
	}
	s.turn(live, c.Times%2 == 1, chance)
	return s
}

func (s *stream) begin(low, high int, parents ...*partition) *partition {
	p := &partition{name: fmt.Sprintf("p%05d", len(s.all)), low: low, high: high}
	for _, q := range parents {
		p.parents = append(p.parents, q.name)
		q.children = append(q.children, p)
	}
	slices.Sort(p.parents) // all parents report the same
	s.all, s.named[p.name] = append(s.all, p), p
	return p
}

// turn splits one of the live partitions, or merges two neighbours, and returns those that are live then.
func (s *stream) turn(live []*partition, split bool, chance *rand.Rand) []*partition {
	if i := chance.IntN(len(live)); split {
		if p := live[i]; p.high-p.low > 1 {
			middle := p.low + 1 + chance.IntN(p.high-p.low-1)
			return slices.Replace(live, i, i+1, s.begin(p.low, middle, p), s.begin(middle, p.high, p))
		}
	} else if i+1 < len(live) {
		p, q := live[i], live[i+1]
		return slices.Replace(live, i, i+2, s.begin(p.low, q.high, p, q))
	}
	return s.turn(live, split, chance)
}

// read returns at most limit changes behind a position, and whether there are more behind them.
func (p *partition) read(after, limit int) (some []change, more bool) {
	i, _ := slices.BinarySearchFunc(p.changes, after+1, func(c change, at int) int { return c.at - at })
	some = p.changes[i:]
	return some[:min(limit, len(some))], len(some) > limit
}

// index is the place of a change in the partition, below 0 if it has no such change.
func (p *partition) index(c change) int {
	i, ok := slices.BinarySearchFunc(p.changes, c.at, func(c change, at int) int { return c.at - at })
	if !ok || p.changes[i] != c {
		return -1
	}
	return i
}

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
