package elastic

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// settling remembers what is known to be on all copies of the shard, so that it cannot be lost with one of them. A server shows a write before that, to
// those who read the copy that has it; if the primary dies then, the write is gone.
type settling struct {
	mu   sync.Mutex
	done map[string]spot // by key; what was acknowledged, or found to be on all copies
	term int64           // of the documents at which checkpoint was read
	all  int64           // the operations up to it, of that term, are on all copies
	who  string          // the copies, and which is the primary, when they were asked last
}

// mostSettled is how many documents are remembered. It is forgotten as a whole.
const mostSettled = 10_000

// note remembers that a document is on all copies.
func (g *settling) note(key string, at spot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done == nil || len(g.done) >= mostSettled {
		g.done = make(map[string]spot)
	}
	g.done[key] = at
}

// forget keeps the memory small: a document that is gone comes back with another version.
func (g *settling) forget(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.done, key)
}

// known reports whether a finding is known to be on all copies.
func (g *settling) known(f finding) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return f.Version == "" || g.done[f.Key] == f.spot || f.term == g.term && f.seq <= g.all
}

// same reports whether the copies are those that were asked before, and remembers them. The copy that was read must be among those that say what all have. If it
// was lost in between, its successor may have given its numbers to other operations.
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

// settled looks at documents until all that it finds is on all copies: mostly the first look is enough.
func (c *conn) settled(ctx context.Context, keys []string) ([]finding, error) {
	for n := range looks {
		found, err := c.look(ctx, keys)
		if err != nil || c.sure(found) {
			return found, err
		}
		all, who, err := c.checkpoint(ctx)
		if err != nil {
			return nil, err
		}
		if !c.settling.same(who) {
			continue
		}
		if c.settling.reached(found, all); c.sure(found) {
			return found, nil
		}
		if !pause(ctx, time.Duration(n)*pauseOfLooks) {
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("%w: what one node has is not on the others that hold the index, though they are up: see GET /_cat/shards/%s", store.ErrUnavailable, c.o.Index)
}

func (c *conn) sure(found []finding) bool {
	for _, f := range found {
		if !c.settling.known(f) {
			return false
		}
	}
	return true
}

// checkpoint is the operation up to which all are on all copies, as the copy says that knows least, and which copies there are. Where one does not answer, it
// is none.
func (c *conn) checkpoint(ctx context.Context) (all int64, who string, err error) {
	var stats struct {
		Shards struct {
			Failed int `json:"failed"`
		} `json:"_shards"`
		Indices map[string]struct {
			Shards map[string][]shardCopy `json:"shards"`
		} `json:"indices"`
	}
	if err := c.read(ctx, "GET", "_stats/docs?level=shards", nil, &stats); err != nil {
		return 0, "", err
	}
	all, who = leastOf(stats.Indices[c.o.Index].Shards["0"])
	if stats.Shards.Failed > 0 {
		all = none
	}
	return all, who, nil
}

// none is a checkpoint below all operations.
const none = -1

// leastOf is the checkpoint of the copy that knows least, and what the copies are.
func leastOf(copies []shardCopy) (least int64, who string) {
	var names []string
	for _, c := range copies {
		if !c.serves() {
			continue
		}
		if names = append(names, fmt.Sprint(c.Routing.Node, " ", c.Routing.Primary)); len(names) == 1 || c.Seq.All < least {
			least = c.Seq.All
		}
	}
	if len(names) == 0 {
		return none, ""
	}
	slices.Sort(names)
	return least, strings.Join(names, ", ")
}

// shardCopy is what a copy of the shard says of itself.
type shardCopy struct {
	Routing struct {
		State   string `json:"state"`
		Node    string `json:"node"`
		Primary bool   `json:"primary"`
	} `json:"routing"`
	Seq struct {
		All int64 `json:"global_checkpoint"`
	} `json:"seq_no"`
}

// serves reports whether a copy may be read.
func (c shardCopy) serves() bool {
	return c.Routing.State == "STARTED" || c.Routing.State == "RELOCATING"
}
