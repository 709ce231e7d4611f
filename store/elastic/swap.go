package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
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
