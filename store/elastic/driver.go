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
