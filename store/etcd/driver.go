package etcd

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// freeMost is how many keys one request removes at most: the server serves nobody else meanwhile.
const freeMost = 2000

// conn is the driver of package engine: one handle on the keys below a prefix.
type conn struct {
	client  *clientv3.Client
	lines   *lines
	prefix  string // with "/" at its end
	log     *slog.Logger
	timeout time.Duration // of one request
	ops     int           // that the server takes in one transaction

	life *inner.Life
}

// Limits implements driver.Driver: a server takes requests of 1.5 MiB.
func (c *conn) Limits() driver.Limits {
	most := c.ops - 1
	return driver.Limits{Value: MaxRecord + 1, Swap: 1400 << 10, Each: 64, With: most, Keys: most}
}

// Close implements driver.Driver.
func (c *conn) Close() error {
	if !c.life.Close() {
		return nil
	}
	c.life.End()
	return c.client.Close()
}

// Read implements driver.Documents. One transaction is one instant; more keys take several, one after the other.
func (c *conn) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return rows, err
	}
	defer done()
	ranged := q.From != ""
	for ranged || len(rows.Keys) < len(q.Keys) {
		keys := q.Keys[len(rows.Keys):]
		keys = keys[:min(len(keys), c.Limits().Keys)]
		var ops []clientv3.Op
		if ranged {
			ops = append(ops, c.rangeOp(q))
		}
		for _, key := range keys {
			ops = append(ops, clientv3.OpGet(c.prefix+key))
		}
		r, err := ask(ctx, c, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return c.client.Txn(ctx).Then(ops...).Commit()
		})
		if err != nil {
			return rows, err
		}
		answers := r.Responses
		if ranged {
			got := answers[0].GetResponseRange()
			for _, kv := range got.Kvs {
				rows.Range = append(rows.Range, c.row(kv))
			}
			rows.More, answers, ranged = got.More, answers[1:], false
		}
		for i, answer := range answers {
			row := driver.Row{Key: keys[i]}
			if kvs := answer.GetResponseRange().Kvs; len(kvs) > 0 {
				row = c.row(kvs[0])
			}
			rows.Keys = append(rows.Keys, row)
		}
	}
	return rows, nil
}

func (c *conn) rangeOp(q driver.Query) clientv3.Op {
	how := []clientv3.OpOption{clientv3.WithRange(c.prefix + q.To), clientv3.WithLimit(int64(q.Limit))}
	if q.Bare {
		how = append(how, clientv3.WithKeysOnly())
	}
	return clientv3.OpGet(c.prefix+q.From, how...)
}

// version is the mod revision, which never comes back, whatever is deleted and created.
func version(revision int64) driver.Version {
	return driver.Version(strconv.FormatInt(revision, 10))
}

// revision is the mod revision of a version: 0 where there is no key, and one that no key has if it is not a version.
func revision(v driver.Version) int64 {
	if v == "" {
		return 0
	}
	r, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || r <= 0 || version(r) != v {
		return -1
	}
	return r
}

// row is what is in a key: the length of the name, the name, the value. A key of another program has no name.
func (c *conn) row(kv *mvccpb.KeyValue) driver.Row {
	row := driver.Row{Key: strings.TrimPrefix(string(kv.Key), c.prefix), Version: version(kv.ModRevision)}
	if n, at := binary.Uvarint(kv.Value); at > 0 && n <= uint64(len(kv.Value)-at) {
		row.Name, row.Value = string(kv.Value[at:at+int(n)]), kv.Value[at+int(n):] //nolint:gosec // at most the length
	}
	return row
}

func (c *conn) opOf(o driver.Op, lease clientv3.LeaseID) clientv3.Op {
	if o.Delete {
		return clientv3.OpDelete(c.prefix + o.Key)
	}
	value := append(binary.AppendUvarint(nil, uint64(len(o.Name))), o.Name...)
	return clientv3.OpPut(c.prefix+o.Key, string(append(value, o.Value...)), clientv3.WithLease(lease))
}

// Swap implements driver.Documents: one transaction, which tells what stands there if it is refused.
func (c *conn) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	return c.swap(ctx, clientv3.NoLease, op, with...)
}

func (c *conn) swap(
	ctx context.Context, lease clientv3.LeaseID, op driver.Op, with ...driver.Op,
) (driver.Version, error) {
	var ops []clientv3.Op
	size, most := 0, c.Limits()
	for _, o := range append([]driver.Op{op}, with...) {
		size += len(o.Key) + len(o.Value) + most.Each
		if len(o.Value) > most.Value || size > most.Swap || len(with) > most.With {
			return "", fmt.Errorf("%q: %w", o.Key, store.ErrTooLarge)
		}
		ops = append(ops, c.opOf(o, lease))
	}
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	key, at := c.prefix+op.Key, revision(op.If)
	r, err := change(ctx, c, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		same := clientv3.Compare(clientv3.ModRevision(key), "=", at)
		return c.client.Txn(ctx).If(same).Then(ops...).Else(clientv3.OpGet(key)).Commit()
	})
	switch {
	case err != nil:
		return "", c.full(ctx, err, op)
	case r.Succeeded && op.Delete:
		return "", nil
	case r.Succeeded:
		return version(r.Header.Revision), nil
	}
	row := driver.Row{Key: op.Key}
	if kvs := r.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		row = c.row(kvs[0])
	}
	return "", &driver.Conflict{Row: &row}
}

// Free implements driver.Documents.
func (c *conn) Free(ctx context.Context, keys []string) error {
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	for some := range slices.Chunk(keys, freeMost) {
		_, err := change(ctx, c, func(ctx context.Context) (*clientv3.DeleteResponse, error) {
			return c.client.Delete(ctx, c.prefix+some[0], clientv3.WithRange(c.prefix+some[len(some)-1]+"\x00"))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Watch implements driver.Documents. It begins at a revision that it reads, so that nothing is missed from its first
// hint on.
func (c *conn) Watch(ctx context.Context, prefix string, hint func()) error {
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	now, err := ask(ctx, c, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return c.client.Get(ctx, c.prefix+formatKey, clientv3.WithCountOnly())
	})
	if err != nil {
		return err
	}
	hint()
	from := clientv3.WithRev(now.Header.Revision + 1)
	how := []clientv3.OpOption{clientv3.WithPrefix(), from, clientv3.WithProgressNotify()}
	for r := range c.client.Watch(clientv3.WithRequireLeader(ctx), c.prefix+prefix, how...) {
		if err := r.Err(); err != nil {
			return readError(ctx, err)
		}
		if len(r.Events) > 0 {
			hint()
		}
	}
	return cmp.Or(context.Cause(ctx), store.ErrUnavailable)
}
