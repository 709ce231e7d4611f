package elastic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// keysMost is how many rows one multi-get asks for, and one bulk request removes.
const keysMost = 1000

// conn is the driver of package engine: one handle on the rows of an index.
type conn struct {
	client   *http.Client
	o        Options
	log      *slog.Logger
	current  atomic.Uint64 // counts through the servers: the one that is asked, until it fails
	settling settling

	life *inner.Life
}

func newConn(o Options) *conn {
	return &conn{client: newClient(o), o: o, log: o.Logger, life: inner.NewLife()}
}

// Limits implements driver.Driver. No swap writes two rows: _bulk is the only request that could, and it is not atomic.
// A range is a search, which is late.
func (c *conn) Limits() driver.Limits {
	const most = MaxValue + 1
	return driver.Limits{Value: most, Swap: most + 1<<10, Keys: keysMost, Range: driver.Late}
}

// Close implements driver.Driver.
func (c *conn) Close() error {
	c.life.End()
	c.client.CloseIdleConnections()
	return nil
}

// Read implements driver.Documents. A server reads the rows of one shard in the order of their keys.
func (c *conn) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return rows, err
	}
	defer done()
	if q.From != "" {
		if rows.Range, rows.More, err = c.search(ctx, q); err != nil {
			return rows, err
		}
	}
	for keys := range slices.Chunk(q.Keys, keysMost) {
		found, err := c.settled(ctx, keys)
		if err != nil {
			return rows, err
		}
		for _, f := range found {
			rows.Keys = append(rows.Keys, f.Row)
		}
	}
	return rows, nil
}

// Free implements driver.Documents, by bulk requests: what such a request has done in part is done.
func (c *conn) Free(ctx context.Context, keys []string) error {
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	for some := range slices.Chunk(keys, keysMost) {
		if err := c.free(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) free(ctx context.Context, keys []string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text) // a line for each
	for _, key := range keys {
		c.settling.forget(key)
		if err := e.Encode(map[string]any{"delete": map[string]string{"_id": idOf(key)}}); err != nil {
			return err
		}
	}
	a, err := c.change(ctx, request{"POST", "/" + c.o.Index + "/_bulk", text.Bytes()})
	if err != nil {
		return err
	}
	if !a.good() {
		return writeError(a)
	}
	made := struct{ Errors bool }{true} // unless it says that there are none
	if err := json.Unmarshal(a.body, &made); err != nil || made.Errors {
		return fmt.Errorf("%w: not all documents were removed: the server says %.300q", store.ErrUnknown, a.body)
	}
	return nil
}

// Watch implements driver.Documents: servers tell of nothing.
func (c *conn) Watch(ctx context.Context, _ string, _ func()) error {
	_, done, err := c.life.Enter(ctx)
	if err == nil {
		done()
		err = errors.ErrUnsupported
	}
	return err
}

// searchMost is how many rows one search asks for: each may be large.
const searchMost = 256

// search reads a range, which is stale by up to the refresh interval of the index. It may be cut below the limit.
func (c *conn) search(ctx context.Context, q driver.Query) (rows []driver.Row, more bool, err error) {
	limit := min(q.Limit, searchMost)
	text, err := json.Marshal(map[string]any{
		"size": limit + 1, "_source": !q.Bare, "seq_no_primary_term": true, "track_total_hits": false,
		"sort": []any{map[string]string{"key": "asc"}}, "query": between(q.From, q.To),
	})
	if err != nil {
		return nil, false, err
	}
	var found struct{ Hits struct{ Hits []hit } }
	if err := c.read(ctx, "POST", "_search?allow_partial_search_results=false&"+copyOfAll, text, &found); err != nil {
		return nil, false, err
	}
	hits := found.Hits.Hits
	more = len(hits) > limit
	for _, h := range hits[:min(len(hits), limit)] {
		f := finding{Row: driver.Row{Key: keyOf(h.ID), Version: spot{h.Seq, h.Term}.version()}}
		if !q.Bare {
			if f, err = h.finding(); err != nil {
				return nil, false, err
			}
		}
		rows = append(rows, f.Row)
	}
	return rows, more, nil
}

// between is a query for the keys of a range. One that begins behind a key is asked for as that: a zero byte is nothing
// for a query.
func between(from, to string) map[string]any {
	begin := "gte"
	if last, ok := strings.CutSuffix(from, "\x00"); ok {
		begin, from = "gt", last
	}
	return map[string]any{"range": map[string]any{"key": map[string]string{begin: from, "lt": to}}}
}

// refresh makes searches show what was written before.
func (c *conn) refresh(ctx context.Context) error {
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	var made struct {
		Shards struct{ Failed int } `json:"_shards"`
	}
	if err := c.read(ctx, "POST", "_refresh", nil, &made); err != nil {
		return err
	}
	if made.Shards.Failed > 0 {
		return fmt.Errorf("%w: %d copies of the index were not refreshed", store.ErrUnavailable, made.Shards.Failed)
	}
	return nil
}

// finding is a row, or its absence, in one copy of the shard.
type finding struct {
	driver.Row
	spot
}

// hit is a row in an answer.
type hit struct {
	ID     string          `json:"_id"`
	Seq    int64           `json:"_seq_no"`
	Term   int64           `json:"_primary_term"`
	Source json.RawMessage `json:"_source"`
	Found  bool
	Error  *fault
}

func (h hit) finding() (finding, error) {
	key, at := keyOf(h.ID), spot{h.Seq, h.Term}
	value, by, err := decode(key, h.Source)
	return finding{driver.Row{Key: key, Name: by, Value: value, Version: at.version()}, at}, err
}

// copyOfAll makes all handles read the same copy of the shard, as long as it is there: two copies may differ while a
// write is on its way to them.
const copyOfAll = "preference=rota"

// look reads rows once. A server reads the rows of one shard in their order.
func (c *conn) look(ctx context.Context, keys []string) ([]finding, error) {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = idOf(key)
	}
	text, err := json.Marshal(map[string][]string{"ids": ids})
	if err != nil {
		return nil, err
	}
	var found struct{ Docs []hit }
	if err := c.read(ctx, "POST", "_mget?realtime=true&"+copyOfAll, text, &found); err != nil {
		return nil, err
	}
	if len(found.Docs) != len(keys) {
		return nil, fmt.Errorf("%w: %d documents were asked for, and the answer has %d", store.ErrUnavailable,
			len(keys), len(found.Docs))
	}
	out := make([]finding, len(keys))
	for i, h := range found.Docs {
		switch {
		case h.ID != ids[i]:
			return nil, fmt.Errorf("%w: document %q was asked for, and the answer has %q", store.ErrUnavailable, ids[i],
				h.ID)
		case h.Error != nil:
			return nil, h.Error.of(500, store.ErrUnavailable)
		case !h.Found:
			out[i] = finding{Row: driver.Row{Key: keys[i]}}
			continue
		}
		if out[i], err = h.finding(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read asks for something, and decodes the answer.
func (c *conn) read(ctx context.Context, method, what string, body []byte, into any) error {
	a, err := c.ask(ctx, request{method, "/" + c.o.Index + "/" + what, body})
	if err != nil {
		return err
	}
	if !a.good() {
		return readError(a)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%w: the answer to %.9s: %w", store.ErrUnavailable, what, err)
	}
	return nil
}
