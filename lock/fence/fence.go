package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/rota-run/rota/cluster"
)

// ErrStale is what a former owner gets: another one has written with a larger token.
var ErrStale = errors.New("an owner with a larger token has written")

// Table makes the table that SQL needs.
const Table = `CREATE TABLE IF NOT EXISTS rota_fence (resource VARCHAR(255) PRIMARY KEY, token BIGINT NOT NULL)`

// Tx is what SQL needs of a transaction; [database/sql.Tx] has it.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// SQL makes a transaction one of the newest owner of a resource. Call it before the first change, and roll back if it
// returns an error. It locks a row until the transaction ends: a newer owner's waits for that, and an older owner's
// gets ErrStale.
func SQL(ctx context.Context, tx Tx, resource string, token cluster.Token) error {
	const query = `INSERT INTO rota_fence (resource, token) VALUES ($1, $2)
		ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE rota_fence.token <= excluded.token`
	done, err := tx.ExecContext(ctx, query, resource, int64(token)) //nolint:gosec // tokens are far below 2^63
	if err != nil {
		return fmt.Errorf("fence %s under token %d: %w", resource, token, err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("fence %s under token %d: %w", resource, token, errors.Join(ErrStale, err))
	}
	return nil
}

// Elastic are the parameters of an index or delete request of Elasticsearch or OpenSearch. With them the server refuses
// (409) a request whose token is smaller than that of the document. Write the document with no other version.
func Elastic(token cluster.Token) url.Values {
	return url.Values{"version": {strconv.FormatUint(uint64(token), 10)}, "version_type": {"external_gte"}}
}

// Header is the header of a request that has the token of its sender, as a decimal number.
const Header = "Rota-Token"

// Handler serves requests whose Header is not smaller than the largest one seen for the resource. Others get 412, and
// 400 where there is no token. Requests for one resource are served one after the other, so that none changes anything
// once a newer owner's was served. The largest tokens are in memory: what must survive the process belongs beside the
// data.
func Handler(resource func(*http.Request) string, next http.Handler) http.Handler {
	var mu sync.Mutex
	newest := make(map[string]*fenced)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := strconv.ParseUint(r.Header.Get(Header), 10, 64)
		if err != nil {
			http.Error(w, Header+": give the token of the lock or the task, a number", http.StatusBadRequest)
			return
		}
		name := resource(r)
		mu.Lock()
		f := newest[name]
		if f == nil {
			f = &fenced{}
			newest[name] = f
		}
		mu.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		if token < f.token {
			http.Error(w, ErrStale.Error(), http.StatusPreconditionFailed)
			return
		}
		f.token = token
		next.ServeHTTP(w, r)
	})
}

// fenced is a resource of a Handler.
type fenced struct {
	mu    sync.Mutex // of the request that is served
	token uint64
}
