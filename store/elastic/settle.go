package elastic

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/wait"

	"github.com/rota-run/rota/store"
)

// settling remembers what is known to be on all copies of the shard, so that it cannot be lost with one of them. A
// server shows a write before that, to those who read the copy that has it; if the primary dies then, the write is
// gone.
type settling struct {
	mu   sync.Mutex
	done map[string]spot // by key; what was acknowledged, or found to be on all copies
	term int64           // of the rows at which the checkpoint was read
	all  int64           // the operations up to it, of that term, are on all copies
	who  string          // the copies, and which is the primary, when they were asked last
}

// mostSettled is how many rows are remembered. It is forgotten as a whole.
const mostSettled = 10_000

// note remembers that a row is on all copies.
func (g *settling) note(key string, at spot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done == nil || len(g.done) >= mostSettled {
		g.done = make(map[string]spot)
	}
	g.done[key] = at
}

// forget keeps the memory small: a row that is gone comes back with another version.
func (g *settling) forget(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.done, key)
}

// sure reports whether all that was found is known to be on all copies.
func (g *settling) sure(found []finding) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !slices.ContainsFunc(found, func(f finding) bool {
		return f.Version != "" && g.done[f.Key] != f.spot && (f.term != g.term || f.seq > g.all)
	})
}

// same reports whether the copies are those that were asked before, and remembers them. The copy that was read must be
// among those that say what all have. If it was lost in between, its successor may have given its numbers to other
// operations.
func (g *settling) same(who string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.who
	g.who = who
	return was == who
}

// reached notes what a reading of the checkpoint says of what was found before it.
func (g *settling) reached(found []finding, all int64) {
	newest := int64(0)
	for _, f := range found {
		if f.Version != "" && f.seq <= all {
			newest = max(newest, f.term)
			g.note(f.Key, f.spot)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if newest > g.term || newest == g.term && all > g.all {
		g.term, g.all = newest, all
	}
}

// settled looks at rows until all that it finds is on all copies: mostly the first look is enough.
func (c *conn) settled(ctx context.Context, keys []string) ([]finding, error) {
	for n := range looks {
		found, err := c.look(ctx, keys)
		if err != nil || c.settling.sure(found) {
			return found, err
		}
		all, who, err := c.checkpoint(ctx)
		if err != nil {
			return nil, err
		}
		if !c.settling.same(who) {
			continue
		}
		if c.settling.reached(found, all); c.settling.sure(found) {
			return found, nil
		}
		if !wait.For(ctx, time.Duration(n)*pauseOfLooks) {
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("%w: what one node has is not on the others that hold the index, though they are up: see GET /_cat/shards/%s",
		store.ErrUnavailable, c.o.Index)
}

// shardCopy is what a copy of the shard says of itself.
type shardCopy struct {
	Routing struct {
		State, Node string
		Primary     bool
	}
	Seq struct {
		All int64 `json:"global_checkpoint"`
	} `json:"seq_no"`
}

// serves reports whether a copy may be read.
func (c shardCopy) serves() bool {
	return c.Routing.State == "STARTED" || c.Routing.State == "RELOCATING"
}

// checkpoint is the operation up to which all are on all copies, as the copy says that knows least, and which copies
// there are. Where one does not answer, it is below all operations.
func (c *conn) checkpoint(ctx context.Context) (all int64, who string, err error) {
	var stats struct {
		Shards  struct{ Failed int } `json:"_shards"`
		Indices map[string]struct{ Shards map[string][]shardCopy }
	}
	if err := c.read(ctx, "GET", "_stats/docs?level=shards", nil, &stats); err != nil {
		return 0, "", err
	}
	var names []string
	for _, s := range stats.Indices[c.o.Index].Shards["0"] {
		if s.serves() {
			names = append(names, fmt.Sprint(s.Routing.Node, " ", s.Routing.Primary))
			if len(names) == 1 || s.Seq.All < all {
				all = s.Seq.All
			}
		}
	}
	if len(names) == 0 || stats.Shards.Failed > 0 {
		all = -1
	}
	slices.Sort(names)
	return all, strings.Join(names, ", "), nil
}
