package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

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
