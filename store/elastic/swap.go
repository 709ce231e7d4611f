package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// looks is how often a row that must have changed is read, and pauseOfLooks the pause between two reads.
const (
	looks        = 20
	pauseOfLooks = 5 * time.Millisecond
)

// Swap implements driver.Documents. A conflict is verified. Where that shows that nothing stands in the way, the write
// was refused by another one that is gone with its primary, and is made again.
func (c *conn) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if len(op.Value) > c.Limits().Value || len(with) > 0 {
		return "", fmt.Errorf("%q: %w", op.Key, store.ErrTooLarge)
	}
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	at, known := spotOf(op.If)
	if !known && (op.If != "" || op.Delete) {
		return "", &driver.Conflict{} // no row has such a version
	}
	for range looks {
		a, err := c.sendSwap(ctx, op, at)
		switch {
		case err != nil:
			return "", err
		case a.good():
			return c.swapped(op, a)
		case a.status != 409 && !missing(op, a):
			return "", writeError(a)
		}
		v, err := c.contest(ctx, op)
		if err != nil || v != "" {
			return v, err
		}
		if !wait.For(ctx, pauseOfLooks) {
			return "", context.Cause(ctx) // each attempt was refused
		}
	}
	return "", fmt.Errorf("%w: the server refuses it with a conflict each time, and the document is as it was before",
		store.ErrUnavailable)
}

// missing reports whether there was nothing to delete.
func missing(op driver.Op, a answer) bool {
	return op.Delete && a.status == 404 && faultOf(a).Type == ""
}

// sendSwap sends a write, and once more in another form where the server refuses to parse it: servers differ in what a
// JSON object may be.
func (c *conn) sendSwap(ctx context.Context, op driver.Op, at spot) (answer, error) {
	path := c.path("_create", op.Key)
	if op.If != "" {
		path = c.path("_doc", op.Key) + "?" + at.condition()
	}
	if op.Delete {
		return c.change(ctx, request{"DELETE", path, nil})
	}
	_, rest := cutKind(op.Value)
	for plain := !isObject(rest); ; plain = true {
		text, err := encode(op, plain)
		if err != nil {
			return answer{}, err
		}
		a, err := c.change(ctx, request{"PUT", path, text})
		if err != nil || a.status != 400 || plain {
			return a, err
		}
	}
}

func (c *conn) path(verb, key string) string {
	return "/" + c.o.Index + "/" + verb + "/" + url.PathEscape(idOf(key))
}

// swapped is the version that an acknowledged write gave.
func (c *conn) swapped(op driver.Op, a answer) (driver.Version, error) {
	if op.Delete {
		c.settling.forget(op.Key)
		return "", nil
	}
	var h hit
	if err := json.Unmarshal(a.body, &h); err != nil || h.Term == 0 {
		return "", fmt.Errorf("%w: the answer to a write: %.200q", store.ErrUnknown, a.body)
	}
	at := spot{h.Seq, h.Term}
	c.settling.note(op.Key, at)
	return at.version(), nil
}

// contest settles a conflict. A server whose primary dies makes a write again by itself, and then meets what the first
// attempt wrote. So what is there now is read: it may be ours. And what another has written counts only if it cannot be
// lost any more: the log drops records from its head because a page stands there, whoever wrote it. If it was lost, or
// removed, neither a version nor an error is returned, and the write, which was refused, can be made again.
func (c *conn) contest(ctx context.Context, op driver.Op) (driver.Version, error) {
	found, err := c.settled(ctx, []string{op.Key})
	if err != nil {
		return "", unknown(err)
	}
	f := found[0]
	switch {
	case f.Version != "" && f.Name == op.Name:
		return f.Version, nil // on all copies, as if it had been acknowledged; a second write would give it a second version
	case f.Version != op.If:
		return "", &driver.Conflict{Row: &f.Row}
	}
	return "", nil
}

// spot is the operation that wrote a row. Neither number says which one it was by itself: two primaries may give the
// same sequence number under different terms.
type spot struct{ seq, term int64 }

func (s spot) version() driver.Version { return driver.Version(fmt.Sprintf("%d.%d", s.seq, s.term)) }

// spotOf reads a version; false for what is none of ours, which no row has.
func spotOf(v driver.Version) (spot, bool) {
	var s spot
	_, err := fmt.Sscanf(string(v), "%d.%d", &s.seq, &s.term)
	return s, err == nil && s.seq >= 0 && s.term > 0 && s.version() == v
}

// condition is what a request must say so that it changes this version alone.
func (s spot) condition() string {
	return fmt.Sprintf("if_seq_no=%d&if_primary_term=%d", s.seq, s.term)
}

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

// mayWrite returns an error if the user may only read. What it asks for is refused to everybody else, as a conflict:
// no row has that key.
func (c *conn) mayWrite(ctx context.Context) error {
	if c.o.ReadOnly {
		return nil
	}
	a, err := c.change(ctx, request{"PUT", c.path("_doc", "may-write") + "?" + spot{term: 1}.condition(), []byte("{}")})
	if err == nil && faultOf(a).Type == "security_exception" {
		return writeError(a)
	}
	return nil // of anything else the next call tells
}
